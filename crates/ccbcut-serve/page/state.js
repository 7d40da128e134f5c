// What is shown, kept in the address, so that a setting can be shared.

const defaults = {
  tab: "image", image: "", tau: 1.25, k: 8, affinity: "lab", sigma: 3, balance: "normalized", method: "hierarchical",
  view: "overlay", edits: "", strokes: "", compare: "none", pin: "", family: "ccn", alpha: 0.5, knob: 1,
};

const choices = {
  tab: ["image", "toy"], balance: ["normalized", "ratio"], method: ["hierarchical", "multiway"],
  view: ["overlay", "mean", "labels", "embedding", "image"], compare: ["none", "side", "swipe"],
  affinity: ["lab", "mpb", "lab+mpb", "pmi"], family: ["ccn", "ccr", "bhn", "bhr"],
};

const patterns = { strokes: /^([1-5](\.\d+-\d+)+(_(?=.)|$))*$/ };

const ranges = { tau: [0.05, 2], k: [1, 200], sigma: [0.1, 1000], alpha: [0.01, 1], knob: [0, 6] };

export const state = { ...defaults };

/** Takes the state from the address; what makes no sense there is ignored. */
export function readAddress() {
  Object.assign(state, defaults);
  for (const [name, text] of new URLSearchParams(location.hash.slice(1))) {
    if (!(name in defaults)) continue;
    if (ranges[name]) {
      const [low, high] = ranges[name];
      const value = Number(text);
      if (Number.isFinite(value)) state[name] = Math.min(high, Math.max(low, name === "k" ? Math.round(value) : value));
    } else if (choices[name] ? choices[name].includes(text) : (patterns[name] ?? /^/).test(text)) {
      state[name] = text;
    }
  }
}

/** Puts the state into the address, without the defaults. */
export function writeAddress() {
  const words = new URLSearchParams();
  for (const name of Object.keys(defaults)) {
    if (String(state[name]) !== String(defaults[name])) words.set(name, state[name]);
  }
  const hash = words.toString();
  history.replaceState(null, "", hash ? `#${hash}` : location.pathname);
}

/** The settings of a cut, as the server takes them. */
export function settings(from = state) {
  const { tau, affinity, sigma, balance, method, strokes } = from;
  return { tau, affinity, sigma, balance, method, strokes };
}

/** A cut in one word, to be pinned in the address. */
export function pinned(from = state) {
  return [from.tau, from.k, from.affinity, from.sigma, from.balance, from.method, from.edits, from.strokes].join("~");
}

/** The cut of such a word, or nothing. */
export function unpinned(word) {
  const [tau, k, affinity, sigma, balance, method, edits = "", strokes = ""] = word.split("~");
  const is = (name, value) => choices[name].includes(value);
  if (!is("affinity", affinity) || !is("balance", balance) || !is("method", method)) return null;
  if (!(Number(tau) > 0 && Number(k) >= 1 && Number(sigma) > 0) || !patterns.strokes.test(strokes)) return null;
  return { tau: Number(tau), k: Math.round(Number(k)), affinity, sigma: Number(sigma), balance, method, edits, strokes };
}

export const byId = (id) => document.getElementById(id);

/** An element with attributes and children. */
export function make(name, attributes = {}, ...children) {
  const svg = ["svg", "g", "line", "circle", "text", "title"].includes(name);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}
