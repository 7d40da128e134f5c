// What a person does with the viewer, in a real browser.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Browser, Server, png, until } from "./driver.mjs";

const [tab, left, right, down, enter] = ["\uE004", "\uE012", "\uE014", "\uE015", "\uE007"];

/** Fields of colour, some alike, and a little texture. */
const fields = png(96, 64, (row, column) => {
  const base = [[200, 70, 50], [50, 120, 190], [90, 200, 80], [210, 190, 90], [120, 60, 150], [70, 75, 80]][3 * (row > 30) + Math.min(2, Math.floor(column / 34))];
  const spot = Math.hypot(row - 14, column - 80) < 6;
  return (spot ? [240, 235, 230] : base).map((v) => v + ((row * 7 + column * 13) % 9));
});

const caption = (browser) => browser.text("caption");
const segment = (folder, words) => execFileSync(process.env.CCBCUT_BIN, ["segment", ...words.split(" ")], { cwd: folder, stdio: "ignore" });

export const cases = {
  async "the page loads, cuts its first image and says so"({ browser, server }) {
    await browser.visit(server.url);
    await browser.settled(8);
    assert.match(await browser.text("image-note"), /fields\.png: 96 × 64/);
    assert.match(await browser.text("status"), /8 parts/);
    assert.equal(await browser.run("return document.querySelectorAll('#costs tbody tr').length"), 7);
    assert.match(await browser.text("command"), /^ccbcut segment fields\.png -k 8 --tau 1\.25 -o labels\.png$/);
    assert.match(await browser.text("python"), /ccbcut\.segment\(image, \d+/);
    assert.ok(await browser.run("return document.querySelectorAll('#tree circle').length") >= 15);
  },

  async "k moves at once, and tau makes another cut"({ browser, server }) {
    await browser.visit(server.url);
    await browser.settled(8);
    await until("the tree to be grown", () => browser.run("return document.querySelectorAll('#tree circle').length >= 24"));
    const seen = new Set([await browser.canvas()]);
    for (const k of [3, 5, 12, 20]) {
      const ms = await browser.runAsync(`const done = arguments[1]; const slider = document.getElementById("k");
        const before = performance.now(); slider.value = arguments[0];
        const look = new MutationObserver(() => {
          if (!document.getElementById("caption").textContent.endsWith(", " + arguments[0] + " parts")) return;
          look.disconnect(); done(performance.now() - before); });
        look.observe(document.getElementById("caption"), { childList: true });
        slider.dispatchEvent(new Event("input", { bubbles: true }));`, k);
      console.log(`    k = ${k} after ${ms.toFixed(0)} ms`);
      assert.ok(ms < 1000, `k = ${k} took ${ms} ms`);
      await browser.settled(k);
      seen.add(await browser.canvas());
    }
    assert.equal(seen.size, 5, "every k looks different");
    const before = await browser.canvas();
    const costs = await browser.text("costs");
    await browser.slide("tau", 2);
    await until("the new tau", async () => (await caption(browser)).startsWith("τ = 2,"));
    await browser.settled(20);
    await until("new costs", async () => (await browser.text("costs")) !== costs);
    assert.notEqual(await browser.canvas(), before);
    assert.match(await browser.run("return location.hash"), /tau=2.*k=20|k=20.*tau=2/);
  },

  async "an image is dropped, and a bad one refused"({ browser, server }) {
    await browser.visit(server.url);
    await browser.settled(8);
    await browser.drop("gray.png", png(60, 40, (row, column) => Array(3).fill((column < 25 ? 60 : 170) + ((row * 5 + column * 3) % 7))));
    await until("the new image", async () => /gray\.png: 60 × 40/.test(await browser.text("image-note")));
    await browser.settled(8);
    assert.match(await browser.text("command"), /segment gray\.png/);
    await browser.drop("notes.txt", Buffer.from("this is no image"));
    await until("a refusal", () => browser.run("return document.getElementById('status').classList.contains('bad')"));
    assert.match(await browser.text("status"), /notes\.txt.*no known kind/);
    assert.match(await browser.text("image-note"), /gray\.png/, "what was there stays");
    await browser.slide("k", 3);
    await browser.settled(3);
  },

  async "a click splits a part, another merges it, and undo goes back"({ browser, server }) {
    await browser.visit(`${server.url}#k=3`);
    await browser.settled(3);
    const before = await browser.canvas();
    await browser.click("#clicks input[value=split]");
    await browser.clickAt("#canvas", 0.5, 0.25);
    await browser.settled(4);
    assert.match(await browser.run("return location.hash"), /edits=s\d/);
    assert.match(await browser.text("command"), /by hand/);
    assert.notEqual(await browser.canvas(), before);
    await browser.click("#clicks input[value=merge]");
    await browser.clickAt("#canvas", 0.5, 0.25);
    await browser.settled(3);
    assert.match(await browser.run("return location.hash"), /edits=s\d\.m\d-\d/);
    await browser.click("#undo");
    await browser.settled(4);
    await browser.click("#undo");
    await browser.settled(3);
    assert.equal(await browser.canvas(), before);
    await browser.clickAt("#canvas", 0.1, 0.1);
    await browser.settled(2);
  },

  async "a stroke makes one part of those it touches"({ browser, server }) {
    await browser.visit(`${server.url}#k=7`);
    await browser.settled(7);
    await browser.click("#clicks input[value=merge]");
    await browser.stroke("#canvas", [0.15, 0.2], [0.3, 0.2], [0.45, 0.2], [0.5, 0.6], [0.5, 0.8]);
    const hash = () => browser.run("return location.hash");
    await until("the edit", async () => /edits=m\d+-\d+/.test(await hash()));
    const joined = (await hash()).match(/edits=m([\d-]+)/)[1].split("-");
    await browser.settled(7 - joined.length + 1);
    await browser.keys("u");
    await browser.settled(7);
  },

  async "strokes of two pens come out in two parts, and the command knows them"({ browser, server, folder }) {
    await browser.log("browser");
    await browser.visit(`${server.url}#k=3&view=labels`);
    await browser.settled(3);
    assert.equal(await browser.run("return document.getElementById('pens').hidden"), true);
    const before = await browser.canvas();
    // Both on the same field of colour, which no cut in three would split.
    await browser.keys("1");
    assert.equal(await browser.run("return document.getElementById('pens').hidden"), false);
    await browser.stroke("#canvas", [0.05, 0.1], [0.1, 0.3], [0.05, 0.4]);
    await browser.settled(3);
    await browser.click("#pens input[value='3']");
    await browser.stroke("#canvas", [0.25, 0.1], [0.3, 0.3], [0.25, 0.4]);
    await until("both strokes", async () => /^2 strokes of pens 1 \(orange\), 3 \(green\): 2 parts or more/.test(await browser.text("strokes-text")));
    await browser.settled(3);
    const color = (x, y) => browser.run(`const c = document.getElementById("canvas");
      return [...c.getContext("2d").getImageData(arguments[0] * c.width, arguments[1] * c.height, 1, 1).data].join()`, x, y);
    assert.notEqual(await color(0.06, 0.12), await color(0.26, 0.12));
    assert.equal(await color(0.25, 0.11), await color(0.25, 0.39));
    const marked = await browser.canvas();
    assert.notEqual(marked, before);
    // The shown command, with the file of strokes, makes the same bytes.
    const words = (await browser.text("command")).split(" ");
    assert.deepEqual(words.slice(-4), ["--scribbles", "fields-scribbles.png", "-o", "labels.png"]);
    writeFileSync(join(folder, "fields-scribbles.png"), await browser.linked("[id='export-scribbles.png']"));
    segment(folder, [...words.slice(2), "--force"].join(" "));
    assert.ok((await browser.linked("[id='export-labels.png']")).equals(readFileSync(join(folder, "labels.png"))), "the labels differ");
    // What cannot be kept is said, and the address has it all.
    await browser.slide("k", 1);
    await until("a refusal", async () => /k is 1, but strokes of 2 pens need 2 parts/.test(await browser.text("status")));
    await browser.slide("k", 3);
    await browser.settled(3);
    const hash = await browser.run("return location.hash");
    await browser.visit("about:blank");
    await browser.visit(server.url + hash);
    await browser.settled(3);
    assert.equal(await browser.canvas(), marked, "the same address shows the same cut");
    await browser.run("const m = document.getElementById('method'); m.value = 'multiway'; m.dispatchEvent(new Event('change'))");
    await until("another refusal", async () => /choose hierarchical/.test(await browser.text("status")));
    await browser.run("const m = document.getElementById('method'); m.value = 'hierarchical'; m.dispatchEvent(new Event('change'))");
    await browser.settled(3);
    // With the keyboard: a pen, the pen down, a way, the pen up; then back, one by one or all at once.
    await browser.run("document.getElementById('canvas').focus()");
    await browser.keys("5", down, enter, down, down, enter);
    await until("a third stroke", async () => /^3 strokes of pens .*5 \(blue\): 3 parts/.test(await browser.text("strokes-text")));
    await browser.settled(3);
    await browser.keys("u");
    await until("two strokes", async () => /^2 strokes/.test(await browser.text("strokes-text")));
    await browser.settled(3);
    assert.equal(await browser.canvas(), marked);
    await browser.click("#clear-strokes");
    await until("none", async () => (await browser.text("strokes-text")) === "No strokes yet.");
    await browser.settled(3);
    assert.equal(await browser.canvas(), before);
    assert.doesNotMatch(await browser.text("command"), /scribbles/);
    const errors = (await browser.log("browser")).filter((entry) => entry.level === "SEVERE" && !/4(22|00)/.test(entry.message));
    assert.deepEqual(errors.map((entry) => entry.message), []);
  },

  async "pointing at a part tells where it comes from"({ browser, server }) {
    await browser.visit(`${server.url}#k=6`);
    await browser.settled(6);
    await browser.clickAt("#canvas", 0.15, 0.2);
    assert.match(await browser.text("region"), /Part \d: .* % of the image, cost .*← .*split at k = /);
    assert.equal(await browser.run("return document.querySelectorAll('#parts tr.chosen').length"), 1);
    assert.equal(await browser.run("return document.getElementById('do-split').disabled"), false);
  },

  async "what is exported is what the command writes"({ browser, server, folder }) {
    await browser.visit(`${server.url}#k=5&tau=0.75`);
    await browser.settled(5);
    writeFileSync(join(folder, "fields.png"), fields);
    segment(folder, "fields.png -k 5 --tau 0.75 -o own.png -o own.npy --coco own.json --geojson own.geojson --force");
    for (const [file, own] of [["labels.png", "own.png"], ["labels.npy", "own.npy"], ["coco.json", "own.json"], ["regions.geojson", "own.geojson"]]) {
      const bytes = await browser.linked(`[id="export-${file}"]`);
      assert.ok(bytes.equals(readFileSync(join(folder, own))), `${file} differs`);
    }
    await browser.click('[id="export-labels.npy"]');
    const downloaded = join(folder, "fields-labels.npy");
    await until("the download", () => existsSync(downloaded) && readdirSync(folder).every((name) => !name.endsWith(".crdownload")));
    assert.ok(readFileSync(downloaded).equals(readFileSync(join(folder, "own.npy"))), "the downloaded file differs");
  },

  async "everything can be done with the keyboard"({ browser, server }) {
    await browser.visit(`${server.url}#k=4`);
    await browser.settled(4);
    const focused = () => browser.run("const e = document.activeElement; return e.id || e.name + e.value");
    const reach = async (id) => {
      for (let presses = 0; presses < 80; presses += 1) {
        if (await focused() === id) return;
        await browser.keys(tab);
      }
      assert.fail(`${id} was not reached by Tab`);
    };
    await browser.run("document.body.focus()");
    await reach("canvas");
    await browser.keys(left, left, down);
    assert.match(await browser.text("region"), /^Part \d/);
    await browser.keys(enter, "s");
    await browser.settled(5);
    await browser.keys("u");
    await browser.settled(4);
    await reach("k");
    await browser.keys(right);
    await browser.settled(5);
    await browser.run("document.getElementById('tab-image').focus()");
    await browser.keys(right);
    assert.equal(await focused(), "tab-toy");
    await until("the toy graph", async () => /costs/.test(await browser.text("toy-text")));
    const before = await browser.text("toy-text");
    await reach("alpha");
    await browser.keys(...Array(30).fill(left));
    await until("another cost", async () => (await browser.text("toy-text")) !== before);
    assert.match(await browser.run("return location.hash"), /tab=toy.*alpha=0\.2/);
  },

  async "every control has a name, and colours have contrast"({ browser, server }) {
    await browser.visit(server.url);
    await browser.settled(8);
    for (const element of await browser.all("button:not([hidden]), input, select, a[href], [role=img]")) {
      const name = await browser.label(element);
      const id = await browser.run("return arguments[0].outerHTML.slice(0, 80)", { "element-6066-11e4-a52e-4f735466cecf": element });
      const isSeen = await browser.run("return arguments[0].checkVisibility()", { "element-6066-11e4-a52e-4f735466cecf": element });
      assert.ok(name || !isSeen, `no name: ${id}`);
    }
    for (const theme of ["light", "dark"]) {
      const ratios = await browser.run(`document.documentElement.dataset.theme = arguments[0];
        const style = getComputedStyle(document.documentElement);
        const light = (name) => { const v = parseInt(style.getPropertyValue(name).trim().slice(1), 16);
          const [r, g, b] = [v >> 16, (v >> 8) & 255, v & 255].map((c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
          return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        return [["--ink", "--ground"], ["--ink", "--panel"], ["--faint", "--ground"], ["--faint", "--panel"], ["--accent", "--panel"], ["--on-accent", "--accent"], ["--focus", "--ground"]]
          .map(([a, b]) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return [a, b, (x + 0.05) / (y + 0.05)]; });`, theme);
      for (const [a, b, ratio] of ratios) assert.ok(ratio >= 4.5, `${theme}: ${a} on ${b} has ${ratio.toFixed(2)}`);
    }
  },

  async "a setting can be shared by its address, and two are compared"({ browser, server }) {
    await browser.visit(`${server.url}#k=4&tau=0.5&view=labels`);
    await browser.settled(4);
    const shown = await browser.canvas();
    await browser.keys("p");
    await until("the pinned cut", () => browser.run("return !document.getElementById('pane-b').hidden"));
    await browser.slide("k", 7);
    await browser.settled(7);
    assert.match(await browser.text("caption-b"), /τ = 0\.5, 4 parts/);
    assert.equal(await browser.canvas("canvas-b"), shown);
    const hash = await browser.run("return location.hash");
    const canvas = await browser.canvas();
    await browser.visit("about:blank");
    await browser.visit(server.url + hash);
    await browser.settled(7);
    assert.equal(await browser.canvas(), canvas, "the same address shows the same cut");
    assert.equal(await browser.canvas("canvas-b"), shown);
    await browser.run("const s = document.getElementById('compare'); s.value = 'swipe'; s.dispatchEvent(new Event('change'))");
    await browser.slide("swipe", 100);
    const whole = await browser.canvas();
    await browser.slide("swipe", 0);
    assert.notEqual(await browser.canvas(), whole);
  },

  async "sweep strip and embedding are shown"({ browser, server }) {
    await browser.visit(`${server.url}#k=4`);
    await browser.settled(4);
    const before = await browser.canvas();
    await browser.click("#views input[value=embedding]");
    await until("the embedding", async () => (await browser.canvas()) !== before);
    await browser.click("#views input[value=mean]");
    await browser.settled(4);
    await browser.click("#sweep-box summary");
    await browser.click("#run-sweep");
    await until("the strip", () => browser.run("return document.querySelectorAll('#strip img').length === 8"));
    await browser.click("#strip button[data-tau='2']");
    await until("its tau", async () => (await caption(browser)).startsWith("τ = 2,"));
    await browser.settled(4);
    await until("its pictures", () => browser.run("return [...document.querySelectorAll('#strip img')].some((i) => i.complete && i.naturalWidth === 96)"));
  },

  async "two tabs do not disturb each other"({ browser, driver, server }) {
    const other = await Browser.open(driver);
    try {
      await Promise.all([browser.visit(`${server.url}#k=6&tau=0.9`), other.visit(`${server.url}#k=9&tau=1.6`)]);
      await Promise.all([browser.settled(6), other.settled(9)]);
      await Promise.all([browser.slide("tau", 0.6), other.slide("tau", 1.2)]);
      await until("both", async () => (await caption(browser)).startsWith("τ = 0.6,") && (await caption(other)).startsWith("τ = 1.2,"));
      await Promise.all([browser.settled(6), other.settled(9)]);
    } finally {
      await other.close();
    }
  },

  async "a server that is killed and started again is found again"({ browser, folder }) {
    const path = join(folder, "fields.png");
    writeFileSync(path, fields);
    const first = await Server.start([path]);
    let second;
    try {
      await browser.visit(first.url);
      await browser.settled(8);
      await browser.drop("mine.png", fields);
      await until("the dropped image", async () => /mine\.png/.test(await browser.text("image-note")));
      await browser.settled(8);
      const shown = await browser.canvas();
      await first.kill();
      await browser.slide("k", 5);
      await until("the bad news", async () => /does not answer/.test(await browser.text("status")));
      second = await Server.start([path], first.port);
      await browser.settled(5);
      await browser.slide("k", 8);
      await browser.settled(8);
      assert.equal(await browser.canvas(), shown, "the dropped image was given to the new server");
    } finally {
      await first.kill();
      await second?.kill();
    }
  },

  async "nothing is asked of anybody else, and nothing goes wrong unseen"({ browser, server }) {
    await browser.log("browser");
    await browser.log("performance");
    await browser.visit(`${server.url}#k=3&tab=toy`);
    await until("the toy graph", async () => /costs/.test(await browser.text("toy-text")));
    await browser.click("#tab-image");
    await browser.settled(3);
    const sent = (await browser.log("performance")).map((entry) => JSON.parse(entry.message).message)
      .filter((message) => message.method === "Network.requestWillBeSent").map((message) => message.params.request.url);
    assert.ok(sent.length > 10);
    for (const url of sent) assert.ok(url.startsWith(server.url) || /^(data|blob|about):/.test(url), `asked for ${url}`);
    const errors = (await browser.log("browser")).filter((entry) => entry.level === "SEVERE");
    assert.deepEqual(errors.map((entry) => entry.message), []);
  },
};

export { fields };
