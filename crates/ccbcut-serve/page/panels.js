// What stands beside the picture: costs, parts, files, commands.

import { byId, make, state } from "./state.js";
import { css, labelColor } from "./paint.js";
import { model } from "./cutter.js";
import { choose, selected } from "./stage.js";

const families = [
  ["cut", "Cut"], ["ncut", "NCut"], ["rcut", "RCut"], ["ncheeger", "Cheeger, by volume"], ["rcheeger", "Cheeger, by pixels"],
  ["ccn", "CCN"], ["ccr", "CCR"],
];

const files = [
  ["labels.png", "labels PNG"], ["labels.npy", "labels NPY"], ["overlay.png", "overlay PNG"], ["mean-color.png", "mean colour PNG"],
  ["boundaries.png", "boundaries PNG"], ["report.json", "report JSON"], ["tree.json", "tree JSON"], ["coco.json", "COCO RLE"],
  ["regions.geojson", "GeoJSON"], ["scribbles.png", "strokes PNG"],
];

const short = (value) => (value === null || value === undefined ? "–" : Number(value).toPrecision(5));

/** Fills everything from what the server said about the cut; `onAct(what, label)` splits or merges. */
export function showDetails(onAct) {
  const { details } = model;
  showCosts(details);
  showParts(details, onAct);
  showFiles();
  byId("command").textContent = details.command ?? "Parts that were split or merged by hand come as files, not from one command.";
  byId("python").textContent = details.python ?? "labels = numpy.load(\"labels.npy\")  # the exported file";
  byId("command-note").hidden = !details.command?.includes("--scribbles");
  byId("copy-command").disabled = byId("copy-python").disabled = !details.command;
}

function showCosts(details) {
  const pin = model.pin?.costs;
  const minimised = state.balance === "ratio" ? "ccr" : "ccn";
  const rows = families.map(([key, name]) => {
    const row = make("tr", { class: key === minimised ? "best" : false }, make("td", {}, key.startsWith("cc") ? `${name} at τ = ${state.tau}` : name), make("td", {}, short(details.costs[key])));
    if (pin) row.append(make("td", { title: "pinned" }, short(pin[key])));
    return row;
  });
  if (pin) rows.unshift(make("tr", {}, make("th", {}, ""), make("th", {}, "this"), make("th", {}, "pinned")));
  byId("costs").tBodies[0].replaceChildren(...rows);
}

function showParts(details, onAct) {
  const pixels = model.image.width * model.image.height;
  const rows = details.sizes.map((size, label) => {
    const swatch = make("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.background = css(labelColor(label));
    const pick = make("button", { type: "button", "aria-label": `Select part ${label}`, onclick: () => choose(label) }, String(label));
    const split = make("button", { type: "button", "aria-label": `Split part ${label}`, onclick: () => onAct("split", label) }, "split");
    const merge = make("button", { type: "button", "aria-label": `Merge part ${label} with its sibling or neighbour`, onclick: () => onAct("merge", label) }, "merge");
    split.disabled = state.method !== "hierarchical";
    merge.disabled = details.sizes.length < 2;
    return make("tr", {}, make("td", {}, swatch, pick), make("td", {}, `${((100 * size) / pixels).toFixed(2)} %`),
      make("td", {}, details.terms[label].toPrecision(3)), make("td", {}, split, " ", merge));
  });
  byId("parts").querySelector("tbody").replaceChildren(...rows);
  if (selected() !== null) choose(selected());
}

/** Links to the files of what is shown; a preview has none. */
export function showFiles() {
  const query = `k=${model.shownK}&edits=${encodeURIComponent(model.shownEdits)}`;
  const links = files.filter(([file]) => file !== "scribbles.png" || model.strokes).map(([file, name]) => {
    const isThere = model.cut && !model.isWarm && (file !== "tree.json" || state.method === "hierarchical");
    return make("a", {
      id: `export-${file}`, download: true, href: isThere ? `/api/cuts/${model.cut}/export/${file}?${query}` : false,
      "aria-disabled": isThere ? false : "true",
    }, name);
  });
  byId("exports").replaceChildren(...links);
}

let sweeps = 0;

/** Shows how a job gets on. */
export function showProgress(kind, data) {
  const bar = byId("progress");
  const text = byId("progress-text");
  const say = (words) => { text.textContent = words; };
  const isGrowing = kind.startsWith("grow");
  const before = isGrowing ? "Growing the tree so that k moves at once: " : "";
  byId("stop").hidden = kind === "end";
  switch (kind.replace("grow-", "")) {
    case "begin": case "grow":
      sweeps = 0;
      bar.removeAttribute("value");
      say(isGrowing ? before : "Waiting for a turn…");
      break;
    case "stage":
      say(`${before}${data.name}`);
      break;
    case "split":
      bar.value = data.of > 1 ? (data.parts - 1) / (data.of - 1) : 1;
      say(`${before}${data.parts} of ${data.of} parts, ${sweeps} sweeps`);
      break;
    case "sweep":
      sweeps += 1;
      say(`${before}sweep ${sweeps}, F = ${data.f.toPrecision(4)}${data.vertices ? ` on ${data.vertices} vertices` : ""}`);
      break;
    default:
      bar.value = 1;
      say(model.details ? `${model.details.n_sweeps} sweeps${model.details.is_converged ? "" : ", stopped before they converged"}` : "");
  }
}

for (const name of ["command", "python"]) {
  byId(`copy-${name}`).addEventListener("click", async (event) => {
    await navigator.clipboard.writeText(byId(name).textContent);
    event.target.textContent = "Copied";
    setTimeout(() => { event.target.textContent = "Copy"; }, 1500);
  });
}
