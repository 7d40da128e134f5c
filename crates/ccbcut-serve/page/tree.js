// The dendrogram: every split, the parts that are shown in their colours.

import { byId, make } from "./state.js";
import { css, labelColor } from "./paint.js";
import { grown, model } from "./cutter.js";

/** The tree down to what is shown, or as far as it is grown for: splits come in their order, two nodes each. */
function topOf(all) {
  const most = Math.min((all.length + 1) / 2, Math.max(grown, model.shownK));
  return all.slice(0, 2 * most - 1).map((node) => (node[2] !== null && node[2] >= most ? [node[0], null, null, node[3]] : node));
}

/** Draws the tree; `onNode(node)` is called for a click on one. */
export function drawTree(onNode) {
  const box = byId("tree");
  const nodes = topOf(model.tree?.nodes ?? []);
  if (nodes.length < 2) {
    box.replaceChildren(make("p", {}, "A multiway cut has no tree."));
    return;
  }
  const steps = (nodes.length - 1) / 2;
  const [width, height, edge] = [720, 170, 12];
  // Leaves side by side in the order of the tree; a node stands above the middle of its children.
  const place = new Map();
  let next = 0;
  const x = (id) => {
    const children = nodes[id][1];
    const at = children ? (x(children[0]) + x(children[1])) / 2 : edge + ((next++ + 0.5) / (steps + 1)) * (width - 2 * edge);
    place.set(id, at);
    return at;
  };
  x(0);
  const y = (id) => edge + ((nodes[id][2] ?? steps + 1) - 1) / Math.max(1, steps) * (height - 2 * edge - 12);
  const shown = new Map((model.details?.nodes ?? []).map((node, label) => [node, label]));
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Tree of ${steps + 1} parts; ${model.n} are shown` });
  for (let id = 0; id < nodes.length; id += 1) {
    const children = nodes[id][1];
    if (!children) continue;
    const isLive = nodes[id][2] < model.shownK;
    const line = (x1, y1, x2, y2) => svg.append(make("line", { x1, y1, x2, y2, class: isLive ? "live" : false }));
    line(place.get(children[0]), y(id), place.get(children[1]), y(id));
    for (const child of children) line(place.get(child), y(id), place.get(child), y(child));
  }
  for (let id = 0; id < nodes.length; id += 1) {
    const label = shown.get(id);
    if (label === undefined && !nodes[id][1]) continue;
    const share = (100 * nodes[id][3]).toFixed(1);
    const what = label === undefined ? `k = ${nodes[id][2] + 1} splits ${share} %` : `Part ${label}, ${share} %`;
    const dot = make("circle", { cx: place.get(id), cy: y(id), r: label === undefined ? 3.5 : 6, onclick: () => onNode(id) }, make("title", {}, what));
    dot.style.fill = label === undefined ? "var(--faint)" : css(labelColor(label));
    svg.append(dot);
  }
  svg.append(make("text", { x: edge, y: height - 2 }, "one part at the top; each bar is a split, later ones lower"));
  box.replaceChildren(svg);
}
