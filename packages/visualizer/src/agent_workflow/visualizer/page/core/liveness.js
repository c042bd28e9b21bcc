/** Whether anything on the screen at hand may still move. */
import { createStore } from "./store.js";

export const liveness = createStore(false);
