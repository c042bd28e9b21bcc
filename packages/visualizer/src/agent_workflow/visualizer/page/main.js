/** Starts the page. */
import "./core/theme.js";
import { html, render } from "./core/html.js";
import { Shell } from "./shell.js";

const place = document.getElementById("app");
place.replaceChildren();
render(html`<${Shell} />`, place);
