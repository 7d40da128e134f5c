// The picture: painting, pointing, clicking, comparing.

import { byId, state } from "./state.js";
import { css, dimmed, isNone, labelColor, painted } from "./paint.js";
import { model } from "./cutter.js";
import { clickMode, drawInk, dropLine, endLine, extendLine, hasLine, isDrawing, startLine } from "./strokes.js";

const canvas = byId("canvas");
const shade = byId("shade");
const ink = byId("ink");
let cross = null;
let stroke = null;
let chosen = null;
let onAct = () => {};

export const selected = () => chosen;

/** `act(what, label)` is called for a click that splits or merges. */
export function listenStage(act) {
  onAct = act;
}

/** Draws the cut that is shown, and the pinned one where it is asked for. */
export function draw() {
  if (!model.image) return;
  const { width, height } = model.image;
  for (const each of [canvas, ink, shade]) {
    if (each.width !== width || each.height !== height) Object.assign(each, { width, height });
  }
  const context = canvas.getContext("2d");
  drawCut(context, model.labels, model.n, model.embedding);
  const mode = model.pin ? state.compare : "none";
  byId("stage").classList.toggle("side", mode === "side");
  byId("pane-b").hidden = mode !== "side";
  byId("swipe-row").hidden = mode !== "swipe";
  if (mode === "side") {
    const other = byId("canvas-b");
    Object.assign(other, { width, height });
    drawCut(other.getContext("2d"), model.pin.labels, model.pin.n, null);
    byId("caption-b").textContent = `Pinned: τ = ${model.pin.tau}, ${model.pin.n} parts`;
  } else if (mode === "swipe") {
    const x = Math.round((byId("swipe").value / 100) * width);
    const other = new OffscreenCanvas(width, height);
    drawCut(other.getContext("2d"), model.pin.labels, model.pin.n, null);
    context.drawImage(other, 0, 0, x, height, 0, 0, x, height);
    context.fillStyle = "#ffffff";
    context.fillRect(x - 1, 0, 2, height);
  }
  const left = mode === "swipe" ? `left: pinned, τ = ${model.pin.tau}; right: ` : "";
  byId("caption").textContent = model.labels
    ? `${left}τ = ${state.tau}, ${model.n} parts${model.isWarm ? " (preview)" : ""}` : "";
  if (chosen !== null && chosen >= model.n) choose(null);
  drawInk();
}

function drawCut(context, labels, n, embedding) {
  const { width, height } = model.image;
  if (state.view === "embedding" && embedding) {
    context.drawImage(embedding.bitmap, 0, 0);
    return;
  }
  const kind = labels ? (state.view === "embedding" ? "overlay" : state.view) : "image";
  context.putImageData(painted(kind, model.rgba, labels ?? [], n, width, height), 0, 0);
}

/** The nodes above a part, from the tree: [node, share, parts that it was split with]. */
export function chain(label) {
  const nodes = model.tree?.nodes ?? [];
  let node = model.details?.nodes?.[label];
  const above = [];
  while (node !== null && node !== undefined && nodes[node]) {
    const [parent, , step, share] = nodes[node];
    above.push({ node, share, step });
    node = parent;
  }
  return above;
}

/** The labels under a node of the tree. */
export function labelsUnder(node) {
  const under = [];
  for (let label = 0; label < model.n; label += 1) {
    if (chain(label).some((each) => each.node === node)) under.push(label);
  }
  return under;
}

/** The part with which another shares most of its border. */
export function neighbor(label) {
  const { width } = model.image;
  const { labels } = model;
  const shared = new Map();
  for (let p = 0; p < labels.length; p += 1) {
    for (const q of [(p + 1) % width ? p + 1 : -1, p + width < labels.length ? p + width : -1]) {
      if (q < 0 || labels[p] === labels[q] || (labels[p] !== label && labels[q] !== label)) continue;
      const other = labels[p] === label ? labels[q] : labels[p];
      if (!isNone(other)) shared.set(other, (shared.get(other) ?? 0) + 1);
    }
  }
  return [...shared].sort((a, b) => b[1] - a[1])[0]?.[0] ?? null;
}

const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 2 : 1)} %`;

/** Says what a part is and where it comes from. */
function tellRegion(label) {
  const text = byId("region");
  text.replaceChildren();
  if (label === null || !model.details) {
    text.textContent = "Point at a part, or move with the arrow keys, to see where it comes from.";
    return;
  }
  const swatch = document.createElement("span");
  swatch.className = "swatch";
  swatch.style.background = css(labelColor(label));
  const share = model.details.sizes[label] / (model.image.width * model.image.height);
  const above = chain(label).slice(1);
  const parents = above.map(({ share: s, step }) => `${percent(s)} (split at k = ${step + 1})`);
  const from = parents.length ? ` ← ${parents.join(" ← ")}` : model.details.nodes[label] === null ? " (made by hand)" : "";
  text.append(swatch, `Part ${label}: ${percent(share)} of the image, cost ${model.details.terms[label].toPrecision(3)}${from}`);
}

function light(isLit) {
  const { width, height } = model.image;
  shade.getContext("2d").putImageData(dimmed(model.labels, isLit, width, height), 0, 0);
  drawCross();
}

function unlight() {
  shade.getContext("2d").clearRect(0, 0, shade.width, shade.height);
  drawCross();
}

function drawCross() {
  if (!cross) return;
  const context = shade.getContext("2d");
  const size = Math.max(5, shade.width / 60);
  for (const [color, wide] of [["#000000", 3], ["#ffffff", 1]]) {
    context.strokeStyle = color;
    context.lineWidth = wide;
    context.beginPath();
    context.moveTo(cross.x - size, cross.y);
    context.lineTo(cross.x + size, cross.y);
    context.moveTo(cross.x, cross.y - size);
    context.lineTo(cross.x, cross.y + size);
    context.stroke();
  }
}

/** Makes a part the chosen one. */
export function choose(label) {
  chosen = label;
  byId("do-split").disabled = byId("do-merge").disabled = label === null;
  document.querySelectorAll("#parts tbody tr").forEach((row, at) => row.classList.toggle("chosen", at === label));
  tellRegion(label);
  if (label === null) unlight();
  else light((each) => each === label);
}

function labelAt({ x, y }) {
  if (!model.labels) return null;
  const { width, height } = model.image;
  const [column, row] = [Math.floor(x), Math.floor(y)];
  if (column < 0 || row < 0 || column >= width || row >= height) return null;
  const label = model.labels[row * width + column];
  return isNone(label) ? null : label;
}

function place(event) {
  const box = canvas.getBoundingClientRect();
  return {
    x: ((event.clientX - box.left) / box.width) * canvas.width,
    y: ((event.clientY - box.top) / box.height) * canvas.height,
  };
}

function act(label) {
  const what = clickMode();
  if (label === null) return;
  if (what === "select") choose(label === chosen ? null : label);
  else onAct(what, label);
}

// A stroke across parts, drawn while a click merges, says that all of them belong together.
canvas.addEventListener("pointerdown", (event) => {
  if (event.button !== 0 || !model.image) return;
  const at = place(event);
  if (isDrawing()) {
    unlight();
    startLine(at);
    canvas.setPointerCapture(event.pointerId);
  }
  if (clickMode() !== "merge") return;
  stroke = { labels: new Set([labelAt(at)]), points: [at] };
  canvas.setPointerCapture(event.pointerId);
});

function drawStroke() {
  const context = shade.getContext("2d");
  light((label) => stroke.labels.has(label));
  for (const [color, wide] of [["#000000", 5], ["#ffe100", 3]]) {
    context.strokeStyle = color;
    context.lineWidth = wide;
    context.beginPath();
    stroke.points.forEach(({ x, y }, at) => (at ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.stroke();
  }
}

canvas.addEventListener("pointerup", () => {
  if (hasLine()) return endLine();
  const labels = [...(stroke?.labels ?? [])].filter((label) => label !== null);
  stroke = null;
  if (labels.length > 1) onAct("join", labels);
  else if (labels.length === 1) onAct("merge", labels[0]);
});
canvas.addEventListener("pointercancel", () => {
  stroke = null;
  if (hasLine()) dropLine();
});
canvas.addEventListener("pointermove", (event) => {
  const label = labelAt(place(event));
  if (hasLine()) return extendLine(place(event));
  if (stroke) {
    stroke.labels.add(label);
    stroke.points.push(place(event));
    drawStroke();
    return;
  }
  tellRegion(label ?? chosen);
  if (label === null || isDrawing()) return;
  light((each) => each === label);
});
canvas.addEventListener("pointerleave", () => choose(chosen));
canvas.addEventListener("click", (event) => {
  cross = null;
  // A stroke, however short, has merged or drawn already.
  if (!["merge", "draw"].includes(clickMode())) act(labelAt(place(event)));
});
byId("clicks").addEventListener("change", () => {
  canvas.classList.toggle("draws", clickMode() === "merge" || isDrawing());
  if (hasLine()) dropLine();
});
canvas.addEventListener("keydown", (event) => {
  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  if (moves[event.key] && model.image) {
    const step = event.shiftKey ? 1 : Math.max(1, Math.round(canvas.width / 40));
    cross ??= { x: canvas.width / 2, y: canvas.height / 2 };
    const [dx, dy] = moves[event.key];
    cross.x = Math.min(canvas.width - 0.5, Math.max(0.5, cross.x + step * dx));
    cross.y = Math.min(canvas.height - 0.5, Math.max(0.5, cross.y + step * dy));
    const label = labelAt(cross);
    tellRegion(label);
    light((each) => isDrawing() || each === label);
    if (hasLine()) extendLine(cross);
  } else if ((event.key === "Enter" || event.key === " ") && cross) {
    // The pen goes down, and with the next Enter up again.
    if (hasLine()) endLine();
    else if (isDrawing()) startLine(cross);
    else act(labelAt(cross));
  } else if (event.key === "Escape") {
    if (hasLine()) dropLine();
    cross = null;
    choose(null);
  } else return;
  event.preventDefault();
});
byId("swipe").addEventListener("input", draw);
