import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { eventually } from "../cases/eventually.ts";
import { startBrowser, type TestBrowser } from "./browser-page.ts";
import {
  enter,
  expectFit,
  headers,
  holds,
  LONG,
  openConsole,
  press,
  result,
  url,
} from "./console-session.ts";
import { webhookSecrets } from "./prepare-target.ts";

// The console's logs in a real browser against the served runtime.

const account = inject("accountId");
/** Servers outlive a file: names of this run. */
const own = `l${Date.now().toString(36)}`;
const folder = mkdtempSync(join(tmpdir(), "causey-console-log-"));
let browser: TestBrowser;

beforeAll(async () => {
  browser = await startBrowser(folder);
}, LONG);
afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Asks the echo provider. */
async function chat(model: string, text: string, secret: string): Promise<void> {
  const answer = await fetch(`${url}/v1/${account}/default/echo/chat/completions`, {
    method: "POST",
    headers: { ...headers, "cf-aig-authorization": `Bearer ${secret}` },
    body: JSON.stringify({ model, messages: [{ role: "user", content: text }] }),
  });
  expect(answer.status).toBe(200);
  await answer.text();
}

const rows = "document.querySelectorAll('table.log tbody tr:not(.detail)')";

describe("the console's log of a gateway", () => {
  it("finds requests by model, caller, time and text, and pages", { timeout: LONG }, async () => {
    const made = await result<{ id: string; key: string }>("/ai-gateway/virtual-keys", {
      method: "POST",
      body: JSON.stringify({ name: `${own} of Ann` }),
    });
    const mine = `${own}-mine`;
    await chat(mine, "by Ann", made.key);
    const token = inject("token");
    await Promise.all(Array.from({ length: 52 }, () => chat(`${own}-many`, "many", token)));
    const page = await openConsole(browser, "logs");
    await enter(page, "Search", own);
    await page.until(
      "document.querySelector('[role=status].small')?.textContent === '1–50 of 53 requests'",
    );
    await page.until(`${rows}.length === 50`);
    await press(page, "Older");
    await page.until(
      "document.querySelector('[role=status].small')?.textContent === '51–53 of 53 requests'",
    );
    await expectFit(page);
    await press(page, "Newer");
    await page.until(`${rows}.length === 50`);
    await enter(page, "Model", mine);
    await page.until(`${rows}.length === 1`);
    await page.until(holds("table.log td", `${own} of Ann`));
    await enter(page, "Model", "");
    await enter(page, "Caller", `key:${made.id}`);
    await page.until(`${rows}.length === 1`);
    await enter(page, "Outcome", "failed");
    await page.until(holds("[role=status].small", "No request matches"));
    await enter(page, "Outcome", "");
    await enter(page, "Time", "yesterday");
    await page.until(holds("[role=status].small", "No request matches"));
    await enter(page, "Time", "hour");
    await page.until(`${rows}.length === 1`);
    await expectFit(page);
    expect(page.errors).toEqual([]);
  });

  it(
    "opens a request with its answer, sends it again, and exports",
    { timeout: LONG },
    async () => {
      const model = `${own}-again`;
      await chat(model, `Say ${own}`, inject("token"));
      const page = await openConsole(browser, "logs");
      await enter(page, "Search", model);
      await page.until(`${rows}.length === 1`);
      await page.click("table.log .link");
      await page.until(holds(".bodies pre", `Say ${own}`));
      await page.until(holds(".timeline .name", model));
      await page.until(holds("main button", "Copy as SDK call"));
      await page.until(holds("main button", "Copy as curl"));
      await press(page, "Send again");
      await press(page, "Yes, send again");
      await page.until(
        `document.querySelector('pre[aria-label="Answer now"]')?.textContent.includes(${JSON.stringify(own)})`,
      );
      // It is a request of its own.
      await page.until(`${rows}.length === 2`);
      await expectFit(page);
      await page.evaluate(`{
      window.saved = [];
      const make = URL.createObjectURL.bind(URL);
      URL.createObjectURL = (blob) => { window.saved.push(blob); return make(blob); };
    }`);
      await press(page, "Export CSV");
      await page.until(holds("main [role=status]", "2 rows saved"));
      const csv = await page.evaluate<string>("window.saved[0].text()");
      expect(csv.split("\r\n")).toHaveLength(4);
      expect(csv).toContain(`,echo,${model},chat/completions,200,true,`);
      await press(page, "Export JSON");
      await page.until("window.saved.length === 2");
      const json = JSON.parse(await page.evaluate<string>("window.saved[1].text()")) as object[];
      expect(json).toMatchObject([{ model }, { model, provider: "echo", gateway: "default" }]);
      expect(Object.keys(json[0] ?? {})).toEqual(expect.arrayContaining(["first_byte", "caller"]));
    },
  );

  it("says why a request failed, and shows its attempts", { timeout: LONG }, async () => {
    const body = JSON.stringify([
      {
        provider: "openai",
        endpoint: "chat/completions",
        headers: { "content-type": "application/json", "x-test-mode": "error429" },
        query: { model: `${own}-gone`, messages: [{ role: "user", content: "Hi" }] },
      },
      {
        provider: "echo",
        endpoint: "chat/completions",
        headers: { "content-type": "application/json" },
        query: { model: `${own}-second`, messages: [{ role: "user", content: "Hi" }] },
      },
    ]);
    await fetch(`${url}/v1/${account}/default`, {
      method: "POST",
      headers: { ...headers, "cf-aig-authorization": `Bearer ${inject("token")}` },
      body,
    }).then((answer) => answer.text());
    const page = await openConsole(browser, "logs");
    await enter(page, "Model", own);
    await enter(page, "Outcome", "failed");
    await page.until(`${rows}.length === 1`);
    await page.click("table.log .link");
    await page.until(holds(".detail .error", "Failed: 429 slow down"));
    await page.until("document.querySelectorAll('[aria-label=Attempts] tbody tr').length === 2");
    await expectFit(page);
  });
});

describe("the console's log of yesterday", () => {
  it("finds a failure of yesterday with its reason", { timeout: LONG }, async () => {
    const model = `${own}-yesterday`;
    const answer = await fetch(`${url}/v1/${account}/default/deepseek/chat/completions`, {
      method: "POST",
      headers: { ...headers, "cf-aig-authorization": `Bearer ${inject("token")}` },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "Hi" }] }),
    });
    expect(answer.status).toBeGreaterThanOrEqual(500);
    await answer.text();
    const page = await openConsole(browser, "logs");
    // Today is the day after.
    await page.evaluate("{ const now = Date.now; Date.now = () => now() + 86_400_000; }");
    await enter(page, "Time", "yesterday");
    await enter(page, "Outcome", "failed");
    await enter(page, "Search", model);
    await page.until(`${rows}.length === 1`);
    // Runtimes say in words of their own why nobody answered.
    await page.until("document.querySelector('table.log .reason')?.textContent.length > 10");
    await page.click("table.log .link");
    await page.until(holds(".detail .error", "Failed: "));
    await expectFit(page);
  });
});

describe("the console's live log", () => {
  it("delivers a webhook again, and finds the event of another", { timeout: LONG }, async () => {
    const send = (path: string, body: object): Promise<{ id: string }> =>
      result(path, { method: "POST", body: JSON.stringify(body) });
    const at404 = await send("/webhooks/endpoints", {
      url: `https://example.com/${own}`,
      types: [own],
    });
    const message = await send("/webhooks/send", { type: own, payload: { id: 7 } });
    const page = await openConsole(browser, "logs");
    await page.click("#tab-Live");
    await page.fill("input[type=search]", "webhooks/send");
    // Other tests send webhooks too: rows are opened, one at a time, until it is the right one.
    const row = (id: string): string =>
      `(${holds(".detail .mono", id)} || ((rows) => rows[Math.floor(Math.random() * rows.length)]?.click())([...document.querySelectorAll("table.log .link[aria-expanded=false]")]))`;
    await page.until(row(message.id));
    await press(page, "Deliver again");
    await eventually(async () => {
      const found = await result<readonly object[]>(
        `/webhooks/deliveries?message_id=${message.id}`,
      );
      return found.length === 2;
    }, "the second delivery");
    await expectFit(page);
    await result(`/webhooks/endpoints/${at404.id}`, { method: "DELETE" });

    const body = JSON.stringify({ entity: own, type: "note", title: "a", id: `${own}-event` });
    const signature = createHmac("sha256", webhookSecrets.generic).update(body).digest("hex");
    await fetch(`${url}/webhooks/generic`, {
      method: "POST",
      body,
      headers: { "content-type": "application/json", "x-signature": `sha256=${signature}` },
    });
    await page.fill("input[type=search]", "/webhooks/:provider");
    await page.until(row(`${own}-event`));
    await press(page, "Handle again");
    // The built-in agent has no handler, and says so.
    await page.until(holds("[role=alert]", "no handler"));
  });
});
