// How long one waits: node times.mjs IMAGE. CCBCUT_BIN names the command.

import { Browser, Driver, Server, sleep, until } from "./driver.mjs";

const [image] = process.argv.slice(2);
const driver = await Driver.start();
const most = (values) => Math.max(...values).toFixed(1);
const middle = (values) => [...values].sort((a, b) => a - b)[values.length >> 1].toFixed(1);
const told = (values) => `${middle(values)} ms in the middle, ${most(values)} ms at most`;

/** Runs a job over HTTP: seconds until it is done, and what it said. */
async function job(server, order) {
  const start = performance.now();
  const body = JSON.stringify({ tab: "times", image: "given-0", ...order });
  const { job: id } = await (await fetch(`${server.url}api/jobs`, { method: "POST", body })).json();
  const text = await (await fetch(`${server.url}api/jobs/${id}/events`)).text();
  const seconds = (performance.now() - start) / 1000;
  const done = JSON.parse(text.trim().split("\n").at(-1).replace("data: ", ""));
  return { seconds, sweeps: text.match(/event: sweep/g)?.length ?? 0, ...done };
}

async function overHttp() {
  const server = await Server.start([image]);
  try {
    await (await fetch(`${server.url}api/images/given-0/picture`)).arrayBuffer();
    const first = await job(server, { k: 8 });
    console.log(`first cut, 8 parts: ${first.seconds.toFixed(2)} s, ${first.sweeps} sweeps`);
    const grown = await job(server, { k: 8, leaves: 25 });
    console.log(`tree of 25 parts: ${grown.seconds.toFixed(2)} s, ${grown.sweeps} sweeps`);
    for (const what of ["labels", "view", "view"]) {
      const times = [];
      for (let k = 2; k <= 25; k += 1) {
        const start = performance.now();
        await (await fetch(`${server.url}api/cuts/${grown.cut}/${what}?k=${k}`)).arrayBuffer();
        times.push(performance.now() - start);
      }
      console.log(`${what} of k = 2 to 25: ${told(times)}`);
    }
    const again = await job(server, { k: 8 });
    console.log(`the same cut again: ${(1000 * again.seconds).toFixed(0)} ms`);
    const cold = await job(server, { k: 8, settings: { tau: 1 } });
    const back = await job(server, { k: 8, settings: { tau: 1.251 } });
    const warm = await job(server, { k: 8, settings: { tau: 1.001 }, warm: true });
    console.log(`tau from 1.25 to 1, cold: ${cold.seconds.toFixed(2)} s, ${cold.sweeps} sweeps; warm: ${warm.seconds.toFixed(2)} s, ${warm.sweeps} sweeps (${warm.is_warm}; ${back.seconds.toFixed(2)} s before)`);
  } finally {
    await server.kill();
  }
}

async function inBrowser() {
  const server = await Server.start([image]);
  const browser = await Browser.open(driver);
  try {
    await browser.visit(`${server.url}#k=8`);
    await browser.settled(8);
    await until("the tree to be grown", () => browser.run("return /^Tree of 25/.test(document.querySelector('#tree svg').ariaLabel)"));
    await sleep(3000);
    // The best of four moves to every k: what the page needs, whatever else the machine does.
    const [drawn, seen] = [Array(24).fill(Infinity), Array(24).fill(Infinity)];
    for (let at = 0; at < 4 * 24; at += 1) {
      const k = 2 + (at % 24);
      const [first, last] = await browser.runAsync(`const done = arguments[1]; const slider = document.getElementById("k");
        const before = performance.now(); slider.value = arguments[0];
        const look = new MutationObserver(() => {
          if (!document.getElementById("caption").textContent.endsWith(", " + arguments[0] + " parts")) return;
          look.disconnect(); const drawn = performance.now() - before;
          requestAnimationFrame(() => setTimeout(() => done([drawn, performance.now() - before]))); });
        look.observe(document.getElementById("caption"), { childList: true });
        slider.dispatchEvent(new Event("input", { bubbles: true }));`, k);
      drawn[k - 2] = Math.min(drawn[k - 2], first);
      seen[k - 2] = Math.min(seen[k - 2], last);
      await browser.settled(k);
    }
    console.log(`k = 2 to 25, best of four, from the slider to the canvas: ${told(drawn)}; to the screen: ${told(seen)}`);
  } finally {
    await browser.close();
    await server.kill();
  }
}

try {
  await overHttp();
  await inBrowser();
} finally {
  driver.stop();
}
