// Strokes: what one pen touches comes out in one part, two pens in two.

import { byId, state } from "./state.js";
import { css, labelColor } from "./paint.js";

const names = ["orange", "sky blue", "green", "yellow", "blue"];
const ink = byId("ink");
let line = null;
let onStroke = () => {};

/** `changed()` is called for every stroke that is finished. */
export function listenStrokes(changed) {
  onStroke = changed;
}

const radio = (name, value) => document.querySelector(`input[name="${name}"][value="${value}"]`);
const pen = () => Number(document.querySelector("#pens input:checked").value);

/** What a click does. */
export const clickMode = () => document.querySelector("#clicks input:checked").value;
export const isDrawing = () => clickMode() === "draw";

/** Takes a pen into the hand. */
export function takePen(number) {
  radio("pen", number).checked = true;
  radio("click", "draw").checked = true;
  byId("clicks").dispatchEvent(new Event("change"));
}

/** The strokes of a text: pens and corners. */
function read(text) {
  return text.split("_").filter(Boolean).map((word) => {
    const [own, ...corners] = word.split(".");
    return { pen: Number(own), corners: corners.map((corner) => corner.split("-").map(Number)) };
  });
}

/** The corners that matter: a line through them misses none of the others by a pixel or more. */
function thinned(corners) {
  if (corners.length < 3) return corners;
  const [[x0, y0], [x1, y1]] = [corners[0], corners.at(-1)];
  const length = Math.hypot(x1 - x0, y1 - y0);
  const off = ([x, y]) => (length ? Math.abs((x - x0) * (y1 - y0) - (y - y0) * (x1 - x0)) / length : Math.hypot(x - x0, y - y0));
  const far = corners.map(off);
  const most = far.indexOf(Math.max(...far));
  if (far[most] < 1) return [corners[0], corners.at(-1)];
  return [...thinned(corners.slice(0, most + 1)).slice(0, -1), ...thinned(corners.slice(most))];
}

const cell = (value, size) => Math.min(size - 1, Math.max(0, Math.floor(value)));

/** Puts the pen down. */
export function startLine({ x, y }) {
  line = { pen: pen(), corners: [[cell(x, ink.width), cell(y, ink.height)]] };
  drawInk();
}

export const hasLine = () => line !== null;

/** Goes on to a place. */
export function extendLine({ x, y }) {
  const [column, row] = [cell(x, ink.width), cell(y, ink.height)];
  const [lastColumn, lastRow] = line.corners.at(-1);
  if (column === lastColumn && row === lastRow) return;
  line.corners.push([column, row]);
  drawInk();
}

/** Lifts the pen; what was drawn counts. */
export function endLine() {
  const corners = thinned(line.corners);
  const word = [line.pen, ...corners.map((corner) => corner.join("-"))].join(".");
  line = null;
  state.strokes = state.strokes ? `${state.strokes}_${word}` : word;
  onStroke();
}

/** Lifts the pen as if nothing had been drawn. */
export function dropLine() {
  line = null;
  drawInk();
}

/** Takes the last stroke back. */
export function undoStroke() {
  state.strokes = state.strokes.split("_").slice(0, -1).join("_");
}

/** Draws all strokes over the picture. */
export function drawInk() {
  const context = ink.getContext("2d");
  context.clearRect(0, 0, ink.width, ink.height);
  Object.assign(context, { lineCap: "round", lineJoin: "round" });
  for (const stroke of [...read(state.strokes), ...(line ? [line] : [])]) {
    for (const [color, wide] of [["#000000", 5], [css(labelColor(stroke.pen - 1)), 3]]) {
      Object.assign(context, { strokeStyle: color, lineWidth: wide });
      context.beginPath();
      stroke.corners.forEach(([x, y], at) => (at ? context.lineTo(x + 0.5, y + 0.5) : context.moveTo(x + 0.5, y + 0.5)));
      if (stroke.corners.length === 1) context.lineTo(stroke.corners[0][0] + 0.51, stroke.corners[0][1] + 0.5);
      context.stroke();
    }
  }
}

/** Says what there is, and shows the pens while they are of use. */
export function showStrokes() {
  const strokes = read(state.strokes);
  const pens = [...new Set(strokes.map((stroke) => stroke.pen))].sort();
  const named = pens.map((each) => `${each} (${names[each - 1]})`).join(", ");
  const count = strokes.length === 1 ? "One stroke" : `${strokes.length} strokes`;
  const [which, apart] = pens.length === 1 ? ["pen", ""] : ["pens", `: ${pens.length} parts or more`];
  const text = strokes.length ? `${count} of ${which} ${named}${apart}.` : "No strokes yet.";
  if (byId("strokes-text").textContent !== text) byId("strokes-text").textContent = text;
  byId("clear-strokes").disabled = !strokes.length;
  byId("pens").hidden = !strokes.length && !isDrawing();
  drawInk();
}

names.forEach((name, at) => {
  const swatch = document.querySelector(`#pens .swatch[data-pen="${at + 1}"]`);
  swatch.style.background = css(labelColor(at));
});
