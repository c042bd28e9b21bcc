/** The one way this page makes elements. Text goes into text nodes; nothing here, or anywhere, sets markup from data. */
import { h } from "../vendor/preact.js";
import htm from "../vendor/htm.js";

export { Fragment, render } from "../vendor/preact.js";
export { useCallback, useEffect, useErrorBoundary, useLayoutEffect, useMemo, useRef, useState } from "../vendor/hooks.js";

export const html = htm.bind(h);
