import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startBrowser, type TestBrowser } from "../http/browser-page.ts";
import { enter, expectFit, holds, LONG, press } from "../http/console-session.ts";
import { noBrowser, startTarget, targetName } from "../http/target.ts";
import { exitOf, lineWith, start } from "../local/runtimes.ts";

// The console of a program that puts the API below a path of its own, in a real browser.

const folder = mkdtempSync(join(tmpdir(), "causey-console-prefix-"));
let browser: TestBrowser;
let host: { readonly url: string; readonly stop: () => Promise<unknown> };

beforeAll(async () => {
  [browser, host] = await Promise.all([startBrowser(folder), startHost()]);
}, LONG);
afterAll(async () => {
  await browser?.close();
  await host?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function startHost(): Promise<typeof host> {
  const runtime = targetName();
  if (runtime === "workers") {
    const entry = fileURLToPath(new URL("console-prefix-worker.js", import.meta.url));
    const { url, stop } = await startTarget({
      env: { ...noBrowser, CAUSEY_WORKERS_ENTRY: entry },
    });
    return { url: `${url}/platform`, stop };
  }
  const child = start(runtime, "../clients/own-server-child.ts", [runtime, "kept"]);
  const port = (await lineWith(child, "listening ")).trim().split(" ").at(-1) ?? "";
  return {
    url: `http://127.0.0.1:${port}/platform`,
    stop: () => {
      child.kill("SIGKILL");
      return exitOf(child);
    },
  };
}

it("the console works below a path of the host's own", { timeout: LONG }, async () => {
  const page = await browser.open(`${host.url}/console`);
  await page.until("document.querySelector('.live.on')");
  await page.until(holds(".notice", "neither counts"));
  await page.evaluate("location.hash = '#/gateways'");
  await enter(page, "Name", "below", "section[aria-labelledby=create-gateway]");
  await press(page, "Create", "section");
  await page.until(holds("#gateway-title", "below"));
  await page.until(holds("dd code", "/platform/v1/local/below/"));
  await expectFit(page);
  await page.evaluate("location.hash = '#/playground'");
  await enter(page, "Gateway", "below");
  await enter(page, "Message", "Said below a path");
  await press(page, "Send");
  await page.until("document.querySelector('.answer')?.textContent === 'Said below a path'");
  await page.evaluate("location.hash = '#/logs'");
  await page.until(holds("table.log .link", "echo/"));
  await page.evaluate("location.hash = '#/webhooks'");
  await page.click("#tab-Failed");
  await page.until(holds("main", "No dead letter"));
  expect(page.errors).toEqual([]);
});
