/** The filters that the list was last seen with: the way back from a trace keeps them. */
import { createStore } from "../core/store.js";

export const lastQuery = createStore(new URLSearchParams());
