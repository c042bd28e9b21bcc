/** Light, dark, or as the system says. */
import { createStore } from "./store.js";
import { remember, remembered } from "./prefs.js";

const system = window.matchMedia("(prefers-color-scheme: dark)");

/** "system", "light" or "dark" */
export const theme = createStore(remembered("theme", "system"));

function apply() {
  const choice = theme.get();
  document.documentElement.dataset.theme = choice === "system" ? (system.matches ? "dark" : "light") : choice;
}

export function nextTheme() {
  const order = ["system", "light", "dark"];
  theme.set(order[(order.indexOf(theme.get()) + 1) % order.length]);
  remember("theme", theme.get());
}

system.addEventListener("change", apply);
theme.watch(apply);
apply();
