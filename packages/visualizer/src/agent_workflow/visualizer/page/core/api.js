/** Reading from the server: conditional requests, and one place that knows whether it answers. */
import { createStore } from "./store.js";
import { takeEarly } from "../early.js";

/** What a reply that is no success said. */
export class Refused extends Error {
  constructor(status, message, detail = null) {
    super(message);
    this.status = status;
    this.detail = detail;
  }
}

/** No reply at all: the server is gone, or the network. */
export class Away extends Error {}

/** @type {{state: "ok"|"away", since: number|null}} */
export const connection = createStore({ state: "ok", since: null });

const kept = new Map();
const KEPT_AT_MOST = 40;
const PATIENCE_MS = 30_000;

/**
 * Read JSON. An unchanged reply (304) gives back the very same body, so callers can compare by identity.
 * @param {string} path below the page's own address
 * @param {{signal?: AbortSignal, keep?: boolean}} options `keep` false for what is read once
 */
export async function ask(path, { signal, keep = true } = {}) {
  const before = keep ? kept.get(path) : undefined;
  const headers = before ? { "If-None-Match": before.etag } : {};
  const reply = await send(path, { signal, headers, cache: "no-store" });
  if (reply.status === 304 && before) {
    kept.delete(path);
    kept.set(path, before);
    return before;
  }
  const answer = { body: await bodyOf(reply), headers: reply.headers, etag: reply.headers.get("etag") };
  if (keep && answer.etag) {
    kept.delete(path);
    kept.set(path, answer);
    if (kept.size > KEPT_AT_MOST) kept.delete(kept.keys().next().value);
  }
  return answer;
}

export async function getJson(path, options) {
  return (await ask(path, options)).body;
}

/** Write JSON: the one write is the archive flag. */
export async function postJson(path, value) {
  const reply = await send(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) });
  return bodyOf(reply);
}

async function send(path, options) {
  let reply;
  try {
    reply = await (takeEarly(path) ?? fetch(path, { credentials: "same-origin", ...options, signal: patient(options.signal) }));
  } catch (error) {
    if (options.signal?.aborted) throw error;
    if (connection.get().state !== "away") connection.set({ state: "away", since: Date.now() });
    throw new Away("the server does not answer");
  }
  if (connection.get().state !== "ok") connection.set({ state: "ok", since: null });
  return reply;
}

/** A server that takes a request and never answers is away, too. */
function patient(signal) {
  const limit = AbortSignal.timeout(PATIENCE_MS);
  if (!signal) return limit;
  return AbortSignal.any ? AbortSignal.any([signal, limit]) : signal;
}

async function bodyOf(reply) {
  let body = null;
  try {
    body = await reply.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (error instanceof TypeError || error.name === "TimeoutError") throw new Away("the reply broke off");
    if (reply.ok) throw new Refused(reply.status, "the reply is no JSON");
  }
  if (!reply.ok) throw new Refused(reply.status, typeof body?.error === "string" ? body.error : `the server answered ${reply.status}`, body?.problem);
  return body;
}
