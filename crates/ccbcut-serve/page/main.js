// Where everything meets: controls, keys, tabs, themes, the address.

import { byId, make, pinned, readAddress, state, writeAddress } from "./state.js";
import { Gone, Refused, askJson, cancelJob, waitForServer } from "./server.js";
import { listen, model, pinFromAddress, pinShown, sweep, takeFile, takeImage, update } from "./cutter.js";
import { listenStrokes, showStrokes, takePen, undoStroke } from "./strokes.js";
import { chain, choose, draw, labelsUnder, listenStage, neighbor, selected } from "./stage.js";
import { showDetails, showFiles, showProgress } from "./panels.js";
import { drawTree } from "./tree.js";
import { showSweep, taus } from "./sweep.js";
import { listenToy, showToy } from "./toy.js";

function say(text, isBad = false) {
  byId("status").textContent = text;
  byId("status").classList.toggle("bad", isBad);
}

/** Puts the state into the controls. */
function showControls() {
  byId("k").max = Math.max(25, state.k);
  for (const name of ["tau", "k", "affinity", "sigma", "balance", "method", "compare"]) byId(name).value = state[name];
  byId("tau-out").textContent = state.tau.toFixed(2);
  byId("k-out").textContent = state.k;
  document.querySelector(`#views input[value="${state.view}"]`).checked = true;
  byId("undo").disabled = !state.edits && !state.strokes;
  showStrokes();
  byId("compare").disabled = !model.pin;
}

/** The state changed: show it, keep it in the address, and cut. */
function changed({ isPreview = false, keepsEdits = false } = {}) {
  if (!keepsEdits) state.edits = "";
  showControls();
  writeAddress();
  if (model.image) update({ isPreview });
}

const edit = (word) => {
  state.edits = state.edits ? `${state.edits}.${word}` : word;
  choose(null);
  changed({ keepsEdits: true });
};

/** Splits a part, or merges it: with the one it was split from, or, where that is in pieces, with its closest neighbour. */
function act(what, label) {
  if (label === null || !model.details) return;
  if (what === "join") return edit(`m${label.join("-")}`);
  if (what === "split") {
    if (state.method !== "hierarchical") return say("Parts of a multiway cut cannot be split: choose hierarchical.", true);
    return edit(`s${label}`);
  }
  const parent = chain(label)[1]?.node;
  let together = parent === undefined ? [] : labelsUnder(parent);
  if (together.length !== 2) {
    const other = neighbor(label);
    together = other === null ? [] : [label, other];
  }
  if (together.length < 2) return say("There is nothing to merge it with.", true);
  return edit(`m${together.join("-")}`);
}

/** Takes the last edit back, or, where there is none, the last stroke. */
function undo() {
  if (state.edits) state.edits = state.edits.split(".").slice(0, -1).join(".");
  else if (state.strokes) undoStroke();
  else return;
  changed({ keepsEdits: true });
}

function clearStrokes() {
  if (!state.strokes) return;
  state.strokes = "";
  changed();
}

function pin() {
  state.pin = pinned();
  pinShown(state.pin);
  if (state.compare === "none") state.compare = "side";
  writeAddress();
  showControls();
  draw();
  if (model.details) showDetails(act);
}

function listenControls() {
  let settling = 0;
  byId("tau").addEventListener("input", (event) => {
    state.tau = Number(event.target.value);
    clearTimeout(settling);
    changed({ isPreview: true });
    settling = setTimeout(() => changed(), 700);
  });
  byId("tau").addEventListener("change", () => {
    clearTimeout(settling);
    settling = setTimeout(() => changed(), 150);
  });
  byId("k").addEventListener("input", (event) => {
    state.k = Number(event.target.value);
    changed();
  });
  for (const name of ["affinity", "balance", "method"]) {
    byId(name).addEventListener("change", (event) => {
      state[name] = event.target.value;
      changed();
    });
  }
  byId("sigma").addEventListener("change", (event) => {
    state.sigma = Math.min(100, Math.max(0.5, Number(event.target.value) || 3));
    changed();
  });
  byId("views").addEventListener("change", (event) => {
    state.view = event.target.value;
    writeAddress();
    draw();
    if (state.view === "embedding") update();
  });
  byId("compare").addEventListener("change", (event) => {
    state.compare = event.target.value;
    writeAddress();
    draw();
  });
  byId("do-split").addEventListener("click", () => act("split", selected()));
  byId("do-merge").addEventListener("click", () => act("merge", selected()));
  byId("undo").addEventListener("click", undo);
  byId("clear-strokes").addEventListener("click", clearStrokes);
  byId("clicks").addEventListener("change", showStrokes);
  byId("pin").addEventListener("click", pin);
  byId("stop").addEventListener("click", () => {
    cancelJob();
    showProgress("end");
    say("Stopped.");
  });
  byId("run-sweep").addEventListener("click", () => guarded(async () => {
    const found = await sweep(taus);
    if (!found) return;
    showSweep(found, (tau) => {
      state.tau = tau;
      changed();
    });
    say(`Followed ${found.steps.at(-1).parts.length} parts through ${found.steps.length} values of τ.`);
  }));
}

/** Runs something that may be refused, and says so. */
async function guarded(work) {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Refused || error instanceof Gone)) throw error;
    showProgress("end");
    say(error.message, true);
  }
}

function listenFiles() {
  const take = (file) => file && guarded(async () => {
    await takeFile(file);
    state.strokes = "";
    changed();
  });
  byId("file").addEventListener("change", (event) => {
    take(event.target.files[0]);
    event.target.value = "";
  });
  const drop = byId("drop");
  addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.hidden = false;
  });
  addEventListener("dragleave", (event) => { drop.hidden = event.relatedTarget === null || drop.hidden; });
  addEventListener("drop", (event) => {
    event.preventDefault();
    drop.hidden = true;
    take(event.dataTransfer.files[0]);
  });
  addEventListener("paste", (event) => take(event.clipboardData.files[0]));
  byId("given").addEventListener("change", (event) => guarded(async () => {
    await takeImage(event.target.value);
    state.strokes = "";
    changed();
  }));
}

function listenKeys() {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || state.tab !== "image") return;
    const { tagName, type } = event.target;
    if (/^[1-5]$/.test(event.key) && tagName !== "SELECT" && type !== "number") return takePen(event.key);
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(tagName) && type !== "radio") return;
    const keys = { s: () => act("split", selected()), m: () => act("merge", selected()), u: undo, p: pin, c: clearStrokes };
    keys[event.key.toLowerCase()]?.();
  });
  byId("tabs").addEventListener("keydown", (event) => {
    if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    showTab(state.tab === "image" ? "toy" : "image");
    byId(`tab-${state.tab}`).focus();
  });
}

function showTab(name) {
  state.tab = name;
  for (const each of ["image", "toy"]) {
    const isShown = each === name;
    byId(`panel-${each}`).hidden = !isShown;
    byId(`tab-${each}`).setAttribute("aria-selected", String(isShown));
    byId(`tab-${each}`).tabIndex = isShown ? 0 : -1;
  }
  writeAddress();
  if (name === "toy") guarded(showToy);
}

function listenTheme() {
  const themes = ["auto", "light", "dark"];
  const show = (theme) => {
    byId("theme").textContent = `Theme: ${theme}`;
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  };
  let theme = localStorage.getItem("ccbcut-theme") ?? "auto";
  if (!themes.includes(theme)) theme = "auto";
  show(theme);
  byId("theme").addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    localStorage.setItem("ccbcut-theme", theme);
    show(theme);
  });
}

/** A node of the tree was clicked: so many parts that it is split, or just not. */
function openNode(node) {
  const step = model.tree.nodes[node][2];
  if (step === null) return;
  state.k = step < model.shownK ? step : step + 1;
  changed();
}

const onImage = () => {
  const { name, width, height, is_shrunk: isShrunk, original } = model.image;
  const from = isShrunk ? `, made smaller from ${original[0]} × ${original[1]} (--work-pixels)` : "";
  byId("image-note").textContent = `${name}: ${width} × ${height} pixels${from}`;
  document.title = `${name} – ccbcut`;
  const given = byId("given");
  given.value = [...given.options].some((option) => option.value === model.image.id) ? model.image.id : "";
  byId("strip").replaceChildren();
  byId("story").replaceChildren();
  model.pin = null;
  choose(null);
  draw();
};

async function start() {
  readAddress();
  listenTheme();
  listenControls();
  listenFiles();
  listenKeys();
  listenToy();
  listenStage(act);
  listenStrokes(() => changed());
  listen({
    onImage,
    onLabels: () => {
      say(model.isWarm ? "Preview; the exact cut follows…" : `${model.n} parts.`);
      draw();
      showFiles();
    },
    onDetails: () => {
      showDetails(act);
      drawTree(openNode);
      draw();
    },
    onProgress: showProgress,
    onStatus: say,
  });
  byId("tab-image").addEventListener("click", () => showTab("image"));
  byId("tab-toy").addEventListener("click", () => showTab("toy"));
  addEventListener("hashchange", async () => {
    const before = state.image;
    readAddress();
    showTab(state.tab);
    if (state.image && state.image !== before) await guarded(() => takeImage(state.image));
    changed({ keepsEdits: true });
  });
  addEventListener("pagehide", cancelJob);
  await waitForServer();
  const given = await askJson("/api/images");
  byId("given").replaceChildren(make("option", { value: "" }, "dropped image"), ...given.map(({ id, name }) => make("option", { value: id }, name)));
  await guarded(async () => {
    try {
      await takeImage(state.image || given[0].id);
    } catch (error) {
      if (!(error instanceof Refused) || !state.image) throw error;
      say("The image of this address is not here any more; this is the first of the server.", true);
      state.edits = state.strokes = "";
      await takeImage(given[0].id);
    }
  });
  if (state.tab === "toy") showTab("toy");
  if (!model.image) return;
  if (state.pin) await pinFromAddress();
  changed({ keepsEdits: true });
}

start();
