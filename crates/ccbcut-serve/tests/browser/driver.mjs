// A browser, a server and a picture: what the tests are made of. Nothing but Node and chromedriver.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { deflateSync } from "node:zlib";

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** Looks until something is there. */
export async function until(what, look, seconds = 90) {
  const end = Date.now() + 1000 * seconds;
  let last;
  for (;;) {
    try {
      last = await look();
      if (last) return last;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`${what}: not after ${seconds} s (${last})`);
    await sleep(50);
  }
}

/** `ccbcut serve`, running. */
export class Server {
  static async start(words = [], port = 0) {
    const server = new Server();
    const bin = process.env.CCBCUT_BIN;
    server.child = spawn(bin, ["serve", "--port", String(port), ...words], { stdio: ["ignore", "pipe", "ignore"] });
    const [line] = await once(createInterface(server.child.stdout), "line");
    server.url = line.trim();
    server.port = Number(new URL(server.url).port);
    return server;
  }

  async kill() {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill("SIGKILL");
    await once(this.child, "exit");
  }
}

/** chromedriver, running. */
export class Driver {
  static async start() {
    const driver = new Driver();
    driver.child = spawn("chromedriver", ["--port=0"], { stdio: ["ignore", "pipe", "inherit"] });
    for await (const line of createInterface(driver.child.stdout)) {
      const found = line.match(/started successfully on port (\d+)/);
      if (found) {
        driver.base = `http://127.0.0.1:${found[1]}`;
        break;
      }
    }
    driver.child.stdout.resume();
    return driver;
  }

  stop() {
    this.child.kill();
  }
}

/** A browser window. */
export class Browser {
  static async open(driver, { width = 1280, height = 900, dark = false, downloads = "/nonexistent" } = {}) {
    const args = [
      "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
      // Nothing outside this machine has a name here: the page must do without.
      "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",
      `--window-size=${width},${height}`, ...(dark ? ["--force-dark-mode"] : []),
    ];
    const prefs = { "download.default_directory": downloads, "download.prompt_for_download": false };
    const capabilities = {
      alwaysMatch: { browserName: "chrome", "goog:chromeOptions": { args, prefs }, "goog:loggingPrefs": { performance: "ALL", browser: "ALL" } },
    };
    const browser = new Browser();
    browser.base = driver.base;
    const { sessionId } = await browser.send("POST", "/session", { capabilities });
    browser.session = `/session/${sessionId}`;
    await browser.send("POST", `${browser.session}/timeouts`, { script: 120000, pageLoad: 60000 });
    // A headless window has no frame; the size is that of the page.
    await browser.send("POST", `${browser.session}/goog/cdp/execute`, {
      cmd: "Emulation.setDeviceMetricsOverride", params: { width, height, deviceScaleFactor: 1, mobile: width < 600 },
    });
    return browser;
  }

  async send(method, path, body) {
    const reply = await fetch(this.base + path, { method, body: body && JSON.stringify(body) });
    const { value } = await reply.json();
    if (!reply.ok) throw new Error(`${method} ${path}: ${value.error}: ${value.message.split("\n")[0]}`);
    return value;
  }

  visit(url) { return this.send("POST", `${this.session}/url`, { url }); }
  run(script, ...args) { return this.send("POST", `${this.session}/execute/sync`, { script, args }); }
  runAsync(script, ...args) { return this.send("POST", `${this.session}/execute/async`, { script, args }); }
  close() { return this.send("DELETE", this.session); }
  text(id) { return this.run("return document.getElementById(arguments[0]).textContent", id); }

  async find(css) {
    return Object.values(await this.send("POST", `${this.session}/element`, { using: "css selector", value: css }))[0];
  }

  async all(css) {
    const found = await this.send("POST", `${this.session}/elements`, { using: "css selector", value: css });
    return found.map((each) => Object.values(each)[0]);
  }

  async click(css) { return this.send("POST", `${this.session}/element/${await this.find(css)}/click`, {}); }
  label(element) { return this.send("GET", `${this.session}/element/${element}/computedlabel`); }

  /** Presses keys one after the other, wherever the focus is. */
  keys(...keys) {
    const actions = keys.flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]);
    return this.send("POST", `${this.session}/actions`, { actions: [{ type: "key", id: "keyboard", actions }] });
  }

  /** Clicks at a share of an element's width and height. */
  async clickAt(css, x, y) {
    const box = await this.run(`const e = document.querySelector(arguments[0]); e.scrollIntoView({ block: "center" });
      const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]`, css);
    const actions = [
      { type: "pointerMove", x: Math.round(box[0] + x * box[2]), y: Math.round(box[1] + y * box[3]), duration: 0 },
      { type: "pointerDown", button: 0 }, { type: "pointerUp", button: 0 },
    ];
    return this.send("POST", `${this.session}/actions`, { actions: [{ type: "pointer", id: "mouse", actions }] });
  }

  /** Draws a stroke through places given as shares of an element's width and height. */
  async stroke(css, ...places) {
    const box = await this.run(`const e = document.querySelector(arguments[0]); e.scrollIntoView({ block: "center" });
      const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]`, css);
    const moves = places.map(([x, y]) => ({ type: "pointerMove", x: Math.round(box[0] + x * box[2]), y: Math.round(box[1] + y * box[3]), duration: 30 }));
    const actions = [moves[0], { type: "pointerDown", button: 0 }, ...moves.slice(1), { type: "pointerUp", button: 0 }];
    return this.send("POST", `${this.session}/actions`, { actions: [{ type: "pointer", id: "mouse", actions }] });
  }

  /** Moves a slider as a hand would: input events on the way, change at the end. */
  slide(id, value) {
    return this.run(`const s = document.getElementById(arguments[0]); s.value = arguments[1];
      s.dispatchEvent(new Event("input", { bubbles: true })); s.dispatchEvent(new Event("change", { bubbles: true }));`, id, value);
  }

  /** What the canvas shows, as a number that changes with it. */
  canvas(id = "canvas") {
    return this.run(`const c = document.getElementById(arguments[0]);
      if (!c.width) return 0; const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
      let h = 7; for (let i = 0; i < d.length; i += 1) h = (Math.imul(h, 31) + d[i]) | 0; return h`, id);
  }

  /** Waits until the exact cut is there and nothing is under way. */
  settled(n) {
    return until(`${n ?? "some"} parts`, () => this.run(`
      const caption = document.getElementById("caption").textContent;
      return document.getElementById("stop").hidden && !caption.includes("preview") && / parts$/.test(caption)
        && (arguments[0] === null || caption.endsWith(", " + arguments[0] + " parts"))
        && document.querySelectorAll("#parts tbody tr").length == caption.match(/(\\d+) parts$/)[1]`, n ?? null));
  }

  /** Drops a file on the page. */
  drop(name, bytes) {
    return this.run(`const bytes = Uint8Array.from(atob(arguments[1]), (c) => c.charCodeAt(0));
      const data = new DataTransfer(); data.items.add(new File([bytes], arguments[0]));
      for (const kind of ["dragover", "drop"]) document.body.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: data }));`,
    name, Buffer.from(bytes).toString("base64"));
  }

  /** The bytes that a link leads to. */
  async linked(css) {
    const text = await this.runAsync(`const done = arguments[1];
      fetch(document.querySelector(arguments[0]).href).then((r) => r.arrayBuffer()).then((b) => {
        let s = ""; for (const v of new Uint8Array(b)) s += String.fromCharCode(v); done(btoa(s)); });`, css);
    return Buffer.from(text, "base64");
  }

  async picture() { return Buffer.from(await this.send("GET", `${this.session}/screenshot`), "base64"); }
  log(type) { return this.send("POST", `${this.session}/se/log`, { type }); }
}

function crc(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return ~sum >>> 0;
}

/** A PNG from a function of row and column. */
export function png(width, height, color) {
  const chunk = (kind, data) => {
    const body = Buffer.concat([Buffer.from(kind), data]);
    const size = Buffer.alloc(4);
    const sum = Buffer.alloc(4);
    size.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc(body));
    return Buffer.concat([size, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const rows = Buffer.alloc(height * (3 * width + 1));
  for (let row = 0; row < height; row += 1) {
    for (let column = 0; column < width; column += 1) rows.set(color(row, column), row * (3 * width + 1) + 1 + 3 * column);
  }
  return Buffer.concat([Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), chunk("IHDR", head), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}
