// Lends the Worker under test a local Chromium. A process of its own, because vitest would load this
// with the Worker's resolve conditions. Its socket's path is the one argument; it ends with its input.
import process from "node:process";
import { chromium } from "../../adapters/shared/chromium/chromium.ts";
import { jsonLog } from "../../adapters/shared/log/standard-log.ts";
import { localSystem } from "../../adapters/shared/system.ts";
import { serveBrowserBinding } from "../../scripts/browser-binding.ts";
import { sharedBrowserDir as stateDir } from "./shared-browser.ts";

const browser = chromium({ stateDir, log: () => undefined, system: localSystem(jsonLog) });
const binding = await serveBrowserBinding(browser, process.argv[2] ?? "");
console.log("ready");
process.stdin.resume().once("end", () => {
  void binding.close().then(() => process.exit(0));
});
