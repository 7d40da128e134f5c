// Runs the cases: node run.mjs [words of a name]. CCBCUT_BIN names the command; CCBCUT_SHOTS a folder for pictures.

import { existsSync, mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cases, fields } from "./cases.mjs";
import { Browser, Driver, Server } from "./driver.mjs";

if (!existsSync(process.env.CCBCUT_BIN ?? "")) {
  console.error("CCBCUT_BIN must name the command `ccbcut`");
  process.exit(2);
}
const wanted = process.argv.slice(2).join(" ");
const folder = mkdtempSync(join(tmpdir(), "ccbcut-browser-"));
const image = join(folder, "fields.png");
writeFileSync(image, fields);
const driver = await Driver.start();
const server = await Server.start([image]);
let failed = 0;
try {
  for (const [name, run] of Object.entries(cases)) {
    if (!name.includes(wanted)) continue;
    const browser = await Browser.open(driver, { downloads: folder });
    const start = Date.now();
    try {
      await run({ browser, driver, server, folder });
      console.log(`ok      ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED  ${name}\n${error.stack}`);
      const shots = process.env.CCBCUT_SHOTS;
      if (shots) {
        mkdirSync(shots, { recursive: true });
        writeFileSync(join(shots, `failed-${failed}.png`), await browser.picture());
      }
      for (const entry of await browser.log("browser").catch(() => [])) console.log(`        ${entry.message}`);
    }
    await browser.close();
  }
} finally {
  driver.stop();
  await server.kill();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);
