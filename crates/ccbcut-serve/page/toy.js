// The toy graph of the paper: which of its cuts in two wins, and where on the map.

import { byId, make, state, writeAddress } from "./state.js";
import { ask, askJson } from "./server.js";

const places = [[70, 40], [40, 110], [110, 110], [210, 110], [280, 110], [250, 40], [160, 24]];
const edges = [[0, 1], [0, 2], [1, 2], [3, 4], [3, 5], [4, 5], [2, 3], [0, 6], [5, 6]];
const colors = ["#e69f00", "#56b4e9"];
const kinds = { alone: "The weak vertex stands alone.", apart: "The triangles are taken apart.", other: "Another cut wins." };
const onMap = { 1: [230, 159, 0], 2: [0, 114, 178], 3: [153, 153, 153] };
const maps = new Map();
let turn = 0;

const isHein = () => state.family.startsWith("bh");

/** Shows the sliders as the state has them, and what wins there. */
export async function showToy() {
  const [low, high] = isHein() ? [1.02, 6] : [0, 4];
  state.knob = Math.min(high, Math.max(low, state.knob));
  Object.assign(byId("knob"), { min: low, max: high, step: isHein() ? 0.02 : 0.05 });
  byId("family").value = state.family;
  byId("alpha").value = state.alpha;
  byId("knob").value = state.knob;
  byId("knob-label").textContent = isHein() ? "p, the knob" : "τ, the knob";
  byId("alpha-out").textContent = state.alpha;
  byId("knob-out").textContent = state.knob;
  turn += 1;
  const mine = turn;
  const point = await askJson(`/api/toy?family=${state.family}&alpha=${state.alpha}&knob=${state.knob}`);
  if (!maps.has(state.family)) maps.set(state.family, await (await ask(`/api/toy/map?family=${state.family}`)).json());
  if (mine !== turn) return;
  drawGraph(point);
  drawMap();
  byId("toy-text").textContent = `${kinds[point.kind]} It costs ${point.cost.toPrecision(4)}.`;
  const row = (name, value) => make("tr", { class: value === point.cost ? "best" : false }, make("td", {}, name), make("td", {}, value.toPrecision(5)));
  byId("toy-costs").tBodies[0].replaceChildren(row("weak vertex alone", point.alone), row("triangles apart", point.apart), row("the best of all 63", point.cost));
}

function drawGraph({ labels }) {
  const svg = byId("toy-graph");
  svg.replaceChildren();
  for (const [a, b] of edges) {
    const weight = a === 6 || b === 6 ? state.alpha / 2 : 1;
    const [[x1, y1], [x2, y2]] = [places[a], places[b]];
    svg.append(make("line", { x1, y1, x2, y2, "stroke-width": 1 + 5 * weight, class: labels[a] === labels[b] ? false : "cut" }));
    if (b === 6) svg.append(make("text", { x: x1 + 0.3 * (x2 - x1), y: y1 - 18 }, `α/2 = ${(state.alpha / 2).toFixed(3)}`));
  }
  places.forEach(([cx, cy], vertex) => {
    const circle = make("circle", { cx, cy, r: 12 });
    circle.style.fill = colors[labels[vertex]];
    svg.append(circle, make("text", { x: cx, y: cy + 4, class: "vertex" }, String(vertex)));
  });
}

function drawMap() {
  const map = maps.get(state.family);
  const [columns, rows] = [map.knobs.length, map.alphas.length];
  const scale = 6;
  const canvas = byId("toy-map");
  Object.assign(canvas, { width: columns * scale, height: rows * scale });
  const context = canvas.getContext("2d");
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const [r, g, b] = onMap[map.winners[row * columns + column]];
      context.fillStyle = `rgb(${r} ${g} ${b})`;
      context.fillRect(column * scale, (rows - 1 - row) * scale, scale, scale);
    }
  }
  const share = (value, list) => (value - list[0]) / (list.at(-1) - list[0]);
  const [x, y] = [share(state.knob, map.knobs) * canvas.width, (1 - share(state.alpha, map.alphas)) * canvas.height];
  for (const [color, radius] of [["#000000", 8], ["#ffffff", 6]]) {
    context.fillStyle = color;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fill();
  }
  Object.assign(context, { fillStyle: "#ffffff", strokeStyle: "#000000", lineWidth: 3, lineJoin: "round", font: "14px system-ui, sans-serif" });
  for (const [text, x, y] of [[isHein() ? "p →" : "τ →", canvas.width - 34, canvas.height - 8], ["α ↑", 6, 18]]) {
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
  }
}

export function listenToy() {
  const changed = () => {
    writeAddress();
    showToy();
  };
  for (const name of ["alpha", "knob"]) {
    byId(name).addEventListener("input", (event) => {
      state[name] = Number(event.target.value);
      changed();
    });
  }
  byId("family").addEventListener("change", (event) => {
    state.family = event.target.value;
    changed();
  });
  byId("toy-map").addEventListener("click", (event) => {
    const box = event.target.getBoundingClientRect();
    const map = maps.get(state.family);
    const at = (share, list) => list[0] + Math.min(1, Math.max(0, share)) * (list.at(-1) - list[0]);
    state.knob = Number(at((event.clientX - box.left) / box.width, map.knobs).toFixed(2));
    state.alpha = Math.max(0.01, Number(at(1 - (event.clientY - box.top) / box.height, map.alphas).toFixed(2)));
    changed();
  });
}
