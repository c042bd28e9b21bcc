import { html } from "../core/html.js";
export function Fleet() { return html`<h1>Fleet</h1>`; }
