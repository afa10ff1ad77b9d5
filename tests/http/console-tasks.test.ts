import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { eventually } from "../cases/eventually.ts";
import { type BrowserPage, startBrowser, type TestBrowser } from "./browser-page.ts";
import {
  enter,
  expectFit,
  headers,
  holds,
  LONG,
  openConsole,
  press,
  tick,
} from "./console-session.ts";
import { startTarget, type Target } from "./target.ts";

// What the console does with a network of its own: a site to crawl, a receiver of webhooks.

const secret = "generic-secret-0123456789";
const folder = mkdtempSync(join(tmpdir(), "causey-console-tasks-"));
let browser: TestBrowser;
let site: Server;
let siteUrl: string;
let target: Target;
/** Bodies that the receiver of webhooks got, and whether it answers them with 200. */
const received: string[] = [];
let isReceiverUp = true;

beforeAll(async () => {
  site = createServer((request, response) => {
    const path = request.url ?? "/";
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      if (path === "/hook") {
        received.push(body);
        response.statusCode = isReceiverUp ? 200 : 410;
        return void response.end("thanks");
      }
      response.statusCode = path === "/" || path === "/more" ? 200 : 404;
      response.setHeader("content-type", "text/html");
      response.end(`<title>Page ${path}</title><h1>Welcome</h1><a href="/more">More</a>`);
    });
  });
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  siteUrl = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const { host } = new URL(siteUrl);
  const config = join(folder, "causey.json");
  const entity = { from: "payload", path: "entity" };
  writeFileSync(
    config,
    JSON.stringify({
      rendering: { allowHosts: [host], crawls: { delayMs: 1 } },
      webhooks: { allowHosts: [host], sources: { generic: { scheme: "generic", secret, entity } } },
    }),
  );
  const args = ["--config", config, "--account-id", inject("accountId")];
  [browser, target] = await Promise.all([
    startBrowser(folder),
    startTarget({ args, env: { CAUSEY_TOKEN: inject("token") } }),
  ]);
}, LONG);

afterAll(async () => {
  await browser?.close();
  await target?.stop();
  site?.closeAllConnections();
  site?.close();
  rmSync(folder, { recursive: true, force: true });
});

const at = (name: string): Promise<BrowserPage> => openConsole(browser, name, { at: target.url });

const root = (): string => `${target.url}/client/v4/accounts/${inject("accountId")}`;

describe("the console, by mouse", () => {
  it("says on a first visit what to do next, with lines to copy", { timeout: LONG }, async () => {
    const page = await at("overview");
    await page.until(holds("#first-title", "What to do next"));
    await page.click(".first summary");
    await page.until(holds(".first pre", `curl ${target.url}/v1/chat/completions`));
    // By keyboard from one program to the next.
    await page.evaluate("document.querySelector('#first-ask-tab-curl').focus()");
    await page.press("ArrowRight");
    await page.until(holds(".first pre", 'import OpenAI from "openai"'));
    await page.evaluate(
      "for (const one of document.querySelectorAll('.first details')) one.open = true",
    );
    await page.until(holds(".first pre", "provider_configs"));
    await expectFit(page);
    expect(page.errors).toEqual([]);
  });

  it(
    "sends a test event, shows its answer, and recovers what was missed",
    { timeout: LONG },
    async () => {
      const page = await at("webhooks");
      await page.click("#tab-Outbound");
      await enter(page, "Address of the endpoint", `${siteUrl}/hook`);
      await enter(page, "Filter of the payload as JSON", "{");
      await press(page, "Create endpoint");
      await page.until(holds("[role=alert]", "Filter of the payload as JSON: this is not JSON"));
      await enter(page, "Filter of the payload as JSON", '{"total": {"$gte": 100}}');
      await enter(page, "Types", "order.*, test");
      await enter(page, "Seconds between attempts", "10, 60");
      await press(page, "Create endpoint");
      await page.until(holds(".secret", "whsec_"));
      await page.until(holds("td", "order.*, test; by a filter"));
      await press(page, "Send test event");
      await eventually(() => received.length === 1, "the test event");
      expect(received[0]).toContain('"type":"webhook.test"');
      await page.until(holds("table.log .status", "delivered"));
      await page.click("table.log .link");
      await page.until(holds("pre[aria-label=Payload]", "webhook.test"));
      await page.until(holds("pre[aria-label=Answer]", "thanks"));
      await expectFit(page);
      await press(page, "Edit");
      await enter(page, "Description", "The shop");
      await press(page, `Save ${siteUrl}/hook`);
      await page.until(holds("td .reason", "The shop"));
      isReceiverUp = false;
      await press(page, "Send test event ✓");
      await page.until(holds("table.log .status", "dead"));
      // 410 has switched it off.
      await page.until(holds(".warn-text", "410"));
      isReceiverUp = true;
      await press(page, "Turn on");
      await page.until(`!(${holds(".warn-text", "410")})`);
      await enter(page, "Made since", "2020-01-01T00:00");
      await press(page, "Deliver all again");
      await page.until(holds("[role=status]", "Sent again: 1"));
      await eventually(() => received.length === 3, "the event that was missed");
      await page.until(holds("table.log .status", "replayed"));
      expect(page.errors).toEqual([]);
    },
  );

  it("gives a customer endpoints of its own", { timeout: LONG }, async () => {
    const page = await at("webhooks");
    await page.click("#tab-Applications");
    await page.until(holds("main", "No application yet"));
    await enter(page, "Id of the customer", "acme");
    await enter(page, "Messages per second", "50");
    await press(page, "Create application");
    await page.until(holds("td", "acme"));
    await expectFit(page);
    await page.click("#tab-Outbound");
    await enter(page, "Of", "acme");
    await page.until(holds("main", "No endpoint yet"));
    await enter(page, "Address of the endpoint", `${siteUrl}/hook`);
    await tick(page, "Keep the order of each entity");
    await press(page, "Create endpoint");
    await page.until(holds("td", `${siteUrl}/hook`));
    const made = await fetch(`${root()}/webhooks/applications/acme/endpoints`, { headers });
    expect(await made.json()).toMatchObject({ result: [{ ordered: true }] });
  });

  it(
    "crawls a site with its progress, and takes a picture of a page",
    { timeout: LONG },
    async () => {
      const page = await at("rendering");
      await page.until(holds("main", "No crawl yet"));
      await expectFit(page);
      await enter(page, "Address to begin at", `${siteUrl}/`);
      await press(page, "Begin");
      await page.until(holds("[aria-label=Crawls] td", "completed"));
      await page.until(holds("[aria-label=Pages] td", "Page /more"));
      await page.until(holds("dd", "2 of 2"));
      await press(page, "Take a picture");
      await page.until("document.querySelector('.picture img')?.naturalWidth > 100");
      await expectFit(page);
      expect(page.errors).toEqual([]);
    },
  );

  it("shows an agent's state, calls it, and replays all", { timeout: LONG }, async () => {
    const body = JSON.stringify({ entity: "order-7", type: "note", title: "first" });
    const signature = createHmac("sha256", secret).update(body).digest("hex");
    const sent = await fetch(`${target.url}/webhooks/generic`, {
      method: "POST",
      body,
      headers: { "content-type": "application/json", "x-signature": `sha256=${signature}` },
    });
    expect(sent.status).toBeLessThan(300);
    const page = await at("webhooks");
    await page.until(holds("button.link", "order-7"));
    await page.until(holds("pre[aria-label='State of the agent']", '"eventCount": 1'));
    await enter(page, "Operation", "getEvents");
    await enter(page, "Arguments as a JSON list", "[1]");
    await expectFit(page);
    await press(page, "Call");
    await page.until(holds("pre[aria-label='Result of the call']", "first"));
    await enter(page, "Arguments as a JSON list", "1");
    await press(page, "Call");
    await page.until(holds("[role=alert]", "write a list"));
    await page.click("#tab-Failed");
    await page.until(holds("main", "No replay yet"));
    await expectFit(page);
    await enter(page, "Handle again", "events");
    await enter(page, "Since", "2020-01-01T00:00");
    await press(page, "Replay all");
    await page.until(holds("[aria-label=Replays] td", "completed"));
    expect(page.errors).toEqual([]);
  });
});
