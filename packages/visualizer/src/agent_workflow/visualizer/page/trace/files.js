/** The raw record of a session: its files, read piece by piece. */
import { html, useEffect, useState } from "../core/html.js";
import { readFile, readFiles } from "../core/endpoints.js";
import { bytes, count, plural } from "../core/format.js";
import { visible } from "../core/text.js";
import { Section } from "../parts/section.js";
import { Time } from "../parts/values.js";

const PIECE = 65_536;

export function Files({ project, adwId, seenAt }) {
  return html`<${Section} name="files" title="Files" open=${false} aside="the raw record"><${List} project=${project} adwId=${adwId} seenAt=${seenAt} /><//>`;
}

function List({ project, adwId, seenAt }) {
  const [files, setFiles] = useState(null);
  const [fault, setFault] = useState("");
  const [open, setOpen] = useState(null);
  useEffect(() => {
    const abort = new AbortController();
    readFiles(project, adwId, abort.signal).then((found) => { setFiles(found); setFault(""); }, (error) => error.name !== "AbortError" && setFault(error.message));
    return () => abort.abort();
  }, [adwId, seenAt]);
  if (fault) return html`<p class="note tone-wait">${visible(fault)}</p>`;
  if (!files) return html`<p class="soft">Reading …</p>`;
  if (files.length === 0) return html`<p class="soft">The session's directory is not there, or empty: the database is all that is left.</p>`;
  return html`<div class="scrolls" tabindex="0" role="group" aria-label=${`${plural(files.length, "file")}, scrollable`}><table><thead><tr><th scope="col">file</th><th scope="col" class="num">size</th><th scope="col" class="num">changed</th></tr></thead>
    <tbody>${files.map((file) => html`<tr key=${file.path} class=${file.path === open ? "picked" : ""}><td class="mono wrap"><button type="button" class="plain mono" aria-expanded=${file.path === open ? "true" : "false"} onClick=${() => setOpen(file.path === open ? null : file.path)}>${visible(file.path)}</button></td><td class="num">${bytes(file.size)}</td><td class="num"><${Time} at=${file.modified_at} /></td></tr>`)}</tbody></table></div>
    ${open && html`<${Piece} key=${open} project=${project} adwId=${adwId} path=${open} />`}`;
}

function Piece({ project, adwId, path }) {
  const [offset, setOffset] = useState(0);
  const [piece, setPiece] = useState(null);
  const [fault, setFault] = useState("");
  useEffect(() => {
    const abort = new AbortController();
    readFile(project, adwId, path, { offset, limit: PIECE }, abort.signal).then((found) => { setPiece(found); setFault(""); }, (error) => error.name !== "AbortError" && setFault(error.message));
    return () => abort.abort();
  }, [offset]);
  if (fault) return html`<p class="note tone-wait">${visible(fault)}</p>`;
  if (!piece) return html`<p class="soft">Reading …</p>`;
  const end = piece.offset + piece.length;
  return html`<div class="text-block">
    <div class="tools"><span class="title mono">${visible(path)}${piece.length < piece.size ? html`, bytes ${count(piece.offset)}–${count(end)} of ${count(piece.size)}` : ""}</span>
      ${piece.offset > 0 && html`<button type="button" class="plain small" onClick=${() => setOffset(Math.max(0, piece.offset - PIECE))}>before</button>`}
      ${piece.next_offset != null && html`<button type="button" class="plain small" onClick=${() => setOffset(piece.next_offset)}>after</button><button type="button" class="plain small" onClick=${() => setOffset(-PIECE)}>end</button>`}</div>
    <pre tabindex="0" role="group" aria-label=${path}>${piece.encoding === "utf-8" ? visible(piece.content) || html`<span class="unknown">empty</span>` : html`<span class="unknown">no text: ${bytes(piece.size)}</span>`}</pre></div>`;
}
