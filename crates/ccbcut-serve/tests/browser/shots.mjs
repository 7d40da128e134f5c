// Pictures of the page to look at: node shots.mjs FOLDER [IMAGE]. CCBCUT_BIN names the command.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Browser, Driver, Server, sleep, until } from "./driver.mjs";

const [folder, ...images] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const driver = await Driver.start();
const server = await Server.start(images);

async function shot(name, hash, window, work = async () => {}) {
  const browser = await Browser.open(driver, window);
  await browser.visit(`${server.url}${hash}`);
  if (hash.includes("tab=toy")) await until("the toy graph", async () => /costs/.test(await browser.text("toy-text")));
  else await browser.settled();
  await work(browser);
  if (name !== "sweep") await browser.run("scrollTo(0, 0)");
  await sleep(300);
  writeFileSync(join(folder, `${name}.png`), await browser.picture());
  await browser.close();
  console.log(name);
}

/** House with roof and door, lake with boat, hills, sky with kite and sun: what belongs together in the drawn scene. */
const strokes = "1.55-115.70-140.68-190.95-180_2.165-185.235-190.290-180_3.115-110.200-90.300-108_4.30-40.149-36.268-34";
const drawn = images.length ? "" : `&strokes=${strokes}`;

const theme = (value) => (browser) => browser.run("document.documentElement.dataset.theme = arguments[0]", value);
try {
  await shot("light", "#k=10", { width: 1280, height: 960 }, async (browser) => {
    await theme("light")(browser);
    await browser.clickAt("#canvas", 0.84, 0.14);
  });
  await shot("dark", "#k=10&view=mean", { width: 1280, height: 960 }, theme("dark"));
  await shot("compare", "#k=10&compare=side&pin=2~10~lab~3~normalized~hierarchical~", { width: 1280, height: 800 }, theme("light"));
  await shot("strokes", `#k=5${drawn}`, { width: 1280, height: 960 }, theme("light"));
  await shot("dark-strokes", `#k=5&view=labels${drawn}`, { width: 1280, height: 960 }, theme("dark"));
  await shot("phone-strokes", `#k=5${drawn}`, { width: 390, height: 1100 }, theme("light"));
  await shot("toy", "#tab=toy&alpha=0.5&knob=1", { width: 1280, height: 620 }, theme("light"));
  await shot("phone", "#k=9", { width: 390, height: 1100 }, theme("light"));
  await shot("dark-toy", "#tab=toy&family=bhr&alpha=0.3&knob=2", { width: 1000, height: 620 }, theme("dark"));
  await shot("sweep", "#k=10&view=labels", { width: 1280, height: 1250 }, async (browser) => {
    await theme("light")(browser);
    await browser.click("#sweep-box summary");
    await browser.click("#run-sweep");
    await until("the strip", () => browser.run("return document.querySelectorAll('#strip img').length === 8"), 300);
    await browser.run("document.getElementById('sweep-box').scrollIntoView({ block: 'end' })");
    await sleep(1500);
  });
} finally {
  driver.stop();
  await server.kill();
}
