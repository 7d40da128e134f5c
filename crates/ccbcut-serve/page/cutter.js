// From settings to a cut on the screen: what must be solved is solved, what is known is only fetched.

import { settings, state, unpinned } from "./state.js";
import { Gone, Refused, ask, askJson, run, waitForServer } from "./server.js";

/** Parts that a tree is grown to in the background, and painted, so that moving k needs no solver. */
export const grown = 25;

/** Bytes of labels that the page keeps, so that moving k asks nobody. */
const room = 64 << 20;

/** What is known: the image, the cut that is shown, its tree. */
export const model = {
  image: null, rgba: null, cut: null, least: 1, leaves: 0, isWarm: false, isGrown: false, key: "", labels: null, n: 0, shownK: 0, shownEdits: "", strokes: "",
  details: null, tree: null, embedding: null, pin: null,
};

let file = null;
let generation = 0;
let listeners = {};

/** `onImage`, `onLabels`, `onDetails`, `onProgress(kind, data)`, `onStatus(text, isBad)`. */
export function listen(all) {
  listeners = all;
}

const keyOf = (from) => JSON.stringify([model.image?.id, settings(from)]);
const isTree = (from = state) => from.method === "hierarchical";

/** Takes a file that was dropped or chosen. */
export async function takeFile(chosen) {
  listeners.onStatus(`Reading ${chosen.name}…`);
  const info = await upload(chosen);
  file = chosen;
  await showImage(info);
}

async function upload(chosen) {
  return askJson(`/api/images?name=${encodeURIComponent(chosen.name)}`, { method: "POST", body: chosen });
}

/** Takes an image that the server has. */
export async function takeImage(id) {
  const info = await askJson(`/api/images/${encodeURIComponent(id)}`);
  if (file && info.id !== model.image?.id) file = null;
  await showImage(info);
}

async function showImage(info) {
  const reply = await ask(`/api/images/${info.id}/picture`);
  const bitmap = await createImageBitmap(await reply.blob());
  const canvas = new OffscreenCanvas(info.width, info.height);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  const rgba = context.getImageData(0, 0, info.width, info.height).data;
  Object.assign(model, { image: info, rgba, cut: null, key: "", labels: null, details: null, tree: null, embedding: null });
  state.image = info.id;
  listeners.onImage();
}

/** Shows what the state asks for. A preview may begin from the last cut, and is followed by the real one. */
export async function update({ isPreview = false } = {}) {
  generation += 1;
  const mine = generation;
  const isMine = () => mine === generation;
  try {
    await (isPreview ? preview(isMine) : settle(isMine));
  } catch (error) {
    if (!isMine() || error.name === "AbortError") return;
    if (error instanceof Gone) await recover(isMine);
    else if (error instanceof Refused) {
      listeners.onProgress("end");
      listeners.onStatus(error.message, true);
    } else throw error;
  }
}

async function preview(isMine) {
  if (canFetch() && await fetchView(isMine)) return;
  await solve(isMine, { leaves: 0, warm: true });
}

async function settle(isMine) {
  const known = canFetch() && !model.isWarm && await fetchView(isMine);
  if (!known) {
    if (!isMine()) return;
    const done = await solve(isMine, { leaves: 0, warm: false });
    if (!done) return;
  }
  if (!isMine()) return;
  if (state.view === "embedding") await fetchEmbedding(isMine);
  if (isMine() && isTree() && !model.isGrown && !state.edits) await grow(isMine);
  if (!isMine()) return;
  listeners.onProgress("end");
  if (isTree() && !model.isWarm) await fetchAll(isMine);
}

/** Whether the cut that is there has what the state asks for. */
function canFetch() {
  return model.cut && model.key === keyOf(state) && (isTree() ? state.k >= model.least && state.k <= model.leaves : state.k === model.shownK);
}

const order = (more) => ({ image: model.image.id, k: state.k, settings: settings(), edits: state.edits, ...more });

async function solve(isMine, more) {
  listeners.onProgress("begin");
  const key = keyOf(state);
  const { strokes } = state;
  const done = await run(order(more), (kind, data) => isMine() && listeners.onProgress(kind, data));
  if (!done || !isMine()) return false;
  Object.assign(model, { cut: done.cut, least: done.least, leaves: done.leaves, isWarm: done.is_warm, isGrown: false, key, strokes, tree: null, embedding: null });
  const shown = await fetchView(isMine);
  if (shown) listeners.onProgress("end");
  return shown;
}

/** Grows the tree while nobody waits for it. */
async function grow(isMine) {
  listeners.onProgress("grow");
  const done = await run(order({ leaves: grown }), (kind, data) => isMine() && listeners.onProgress(`grow-${kind}`, data));
  if (!done || !isMine()) return;
  Object.assign(model, { cut: done.cut, least: done.least, leaves: done.leaves, isWarm: done.is_warm, isGrown: true, tree: null });
  await fetchView(isMine);
}

const parts = (k, edits) => `k=${k}&edits=${encodeURIComponent(edits)}`;

async function fetchLabels(cut, k, edits) {
  const reply = await ask(`/api/cuts/${cut}/labels?${parts(k, edits)}`);
  return new Uint16Array(await reply.arrayBuffer());
}

function count(labels) {
  let most = 0;
  for (let p = 0; p < labels.length; p += 1) if (labels[p] >= most && labels[p] !== 65535) most = labels[p] + 1;
  return most;
}

/** Labels of the cut that is shown, by k. */
const kept = { cut: "", byK: new Map() };

function keep(cut, k, labels) {
  if (kept.cut !== cut) Object.assign(kept, { cut, byK: new Map() });
  if ((kept.byK.size + 1) * labels.byteLength <= room) kept.byK.set(k, labels);
}

const keptLabels = (cut, k, edits) => (kept.cut === cut && !edits ? kept.byK.get(k) : undefined);

/** Fetches the parts of every k of a grown tree while nobody waits, those near the shown k first. */
async function fetchAll(isMine) {
  const { cut, least, leaves, shownK } = model;
  const most = Math.min(leaves, Math.max(grown, shownK));
  const all = Array.from({ length: Math.max(0, most - least + 1) }, (_, at) => at + least);
  all.sort((a, b) => Math.abs(a - shownK) - Math.abs(b - shownK));
  for (const k of all) {
    if (!isMine() || model.cut !== cut || (kept.byK.size + 1) * 2 * model.image.width * model.image.height > room) return;
    if (!keptLabels(cut, k, "")) keep(cut, k, await fetchLabels(cut, k, ""));
  }
}

/** Fetches and shows the parts; false when the server does not have them any more. */
async function fetchView(isMine) {
  const { k, edits } = state;
  const { cut } = model;
  let labels = keptLabels(cut, k, edits);
  try {
    if (!labels) {
      labels = await fetchLabels(cut, k, edits);
      if (!edits) keep(cut, k, labels);
    }
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return false;
    throw error;
  }
  if (!isMine()) return false;
  Object.assign(model, { labels, n: count(labels), shownK: k, shownEdits: edits });
  listeners.onLabels();
  let details;
  try {
    details = await askJson(`/api/cuts/${cut}/view?${parts(k, edits)}`);
    if (!model.tree) model.tree = await askJson(`/api/cuts/${cut}/tree`);
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return false;
    throw error;
  }
  if (model.pin) await weighPin();
  if (!isMine()) return false;
  model.details = details;
  listeners.onDetails();
  return true;
}

async function fetchEmbedding(isMine) {
  const name = `${model.key}/${state.k}`;
  if (model.embedding?.name === name) return;
  listeners.onProgress("begin");
  const done = await run(order({ want: "embedding" }), (kind, data) => isMine() && listeners.onProgress(kind, data));
  if (!done || !isMine()) return;
  const [cut, k] = done.embedding.split("/");
  const reply = await ask(`/api/cuts/${cut}/embedding?k=${k}`);
  const bitmap = await createImageBitmap(await reply.blob());
  if (!isMine()) return;
  model.embedding = { name, bitmap };
  listeners.onLabels();
}

/** What the pinned cut costs at the τ of the one that is shown, so that both columns can be compared. */
async function weighPin() {
  const { cut, k, edits } = model.pin;
  try {
    model.pin.costs = (await askJson(`/api/cuts/${cut}/view?${parts(k, edits)}&tau=${state.tau}`)).costs;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    model.pin.costs = {};
  }
}

/** Keeps what is shown to compare with. */
export function pinShown(word) {
  const { cut, labels, n, details, shownK: k, shownEdits: edits } = model;
  model.pin = labels && { word, cut, k, edits, labels, n, tau: state.tau, costs: details?.costs };
}

/** Solves a cut that an address asks to compare with. */
export async function pinFromAddress() {
  const wanted = unpinned(state.pin);
  if (!wanted) return;
  const { k, edits } = wanted;
  try {
    const done = await run({ image: model.image.id, k, settings: settings(wanted), edits }, listeners.onProgress);
    if (!done) return;
    const labels = await fetchLabels(done.cut, k, edits);
    model.pin = { word: state.pin, cut: done.cut, k, edits, labels, n: count(labels), tau: wanted.tau, costs: {} };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    listeners.onStatus(error.message, true);
  }
}

/** Follows the parts through several τ. */
export async function sweep(taus) {
  generation += 1;
  const mine = generation;
  listeners.onProgress("begin");
  const done = await run(order({ want: "sweep", taus, edits: "" }), (kind, data) => listeners.onProgress(kind, data));
  if (mine === generation) listeners.onProgress("end");
  if (!done) return null;
  return { id: done.sweep, ...await askJson(`/api/sweeps/${done.sweep}`) };
}

/** The server went away: wait for it, give it the image again, and go on. */
async function recover(isMine) {
  listeners.onStatus("The server does not answer. Waiting for it…", true);
  listeners.onProgress("end");
  await waitForServer();
  if (!isMine()) return;
  try {
    const info = file ? await upload(file) : await askJson(`/api/images/${state.image}`);
    Object.assign(model.image, info);
    state.image = info.id;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    listeners.onStatus("The server is back, but has no such image: open it again.", true);
    return;
  }
  Object.assign(model, { cut: null, key: "" });
  listeners.onStatus("The server is back.");
  await update();
}
