// The strip: one picture per τ, and what happened in between.

import { byId, make, state } from "./state.js";

const words = { splits_off: "splits off part", forms: "forms around part", joins: "goes into part" };

export const taus = [2, 1.75, 1.5, 1.25, 1, 0.75, 0.5, 0.25];

/** Shows a sweep; `onTau` is called for a click on a picture. */
export function showSweep(sweep, onTau) {
  const pixels = sweep.steps[0].parts.reduce((sum, part) => sum + part.size, 0);
  const pictures = sweep.steps.map((step, at) => {
    const sizes = step.parts.map((part) => part.size).sort((a, b) => b - a);
    const image = make("img", { src: `/api/sweeps/${sweep.id}/pictures/${at}`, alt: `Parts at τ = ${step.tau}`, loading: "lazy" });
    const smallest = ((100 * sizes.at(-1)) / pixels).toFixed(2);
    const button = make("button", { type: "button", "data-tau": step.tau, "aria-pressed": String(step.tau === state.tau) }, image,
      make("span", {}, `τ = ${step.tau}, smallest ${smallest} %`));
    button.addEventListener("click", () => {
      document.querySelectorAll("#strip button").forEach((each) => each.setAttribute("aria-pressed", String(each === button)));
      onTau(step.tau);
    });
    return button;
  });
  byId("strip").replaceChildren(...pictures);
  const events = sweep.steps.flatMap((step) => step.events.map((event) => ({ tau: step.tau, ...event })));
  const told = events.slice(0, 40).map(({ tau, kind, track, other, size }) =>
    make("li", {}, `τ = ${tau}: part ${track} (${((100 * size) / pixels).toFixed(2)} %) ${words[kind]} ${other}`));
  byId("story").replaceChildren(...(told.length ? told : [make("li", {}, "No part came or went.")]));
}
