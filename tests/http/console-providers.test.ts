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
  tick,
  url,
} from "./console-session.ts";

// What the console sets for the gateway: keys of providers, providers of one's own, prices, limits and guards.

const account = inject("accountId");
/** Servers outlive a file: names of this run. */
const own = `p${Date.now().toString(36)}`;
const folder = mkdtempSync(join(tmpdir(), "causey-console-providers-"));
let browser: TestBrowser;

beforeAll(async () => {
  browser = await startBrowser(folder);
}, LONG);
afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Asks a model by a gateway with the operator's token and no key of the provider. */
function chat(gateway: string, path: string, body: object): Promise<Response> {
  return fetch(`${url}/v1/${account}/${gateway}/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "cf-aig-authorization": headers.authorization },
    body: JSON.stringify({ messages: [{ role: "user", content: "Hello" }], ...body }),
  });
}

describe("the console", () => {
  it("stores a provider's key, which callers then need no more", { timeout: LONG }, async () => {
    const id = `${own}-keys`;
    await result("/ai-gateway/gateways", { method: "POST", body: JSON.stringify({ id }) });
    const page = await openConsole(browser, "gateways");
    await page.until(holds("button.link", id));
    await page.evaluate(
      `[...document.querySelectorAll("button.link")].find((one) => one.textContent === ${JSON.stringify(id)}).click()`,
    );
    await page.until(holds("#gateway-title", id));
    const keys = "section[aria-labelledby=provider-keys-title]";
    await page.until(holds(keys, "No key is stored"));
    await enter(page, "Provider", "openia", keys);
    await enter(page, "Key of the provider", "sk-stored-by-mouse", keys);
    await press(page, "Create provider key", keys);
    await page.until(holds(`${keys} [role=alert]`, "openai"));
    await enter(page, "Provider", "openai", keys);
    await expectFit(page);
    // By keyboard: Enter in a field sends the form.
    await page.evaluate(
      `[...document.querySelectorAll(${JSON.stringify(`${keys} label`)})].find((one) => one.firstChild.textContent === "Key of the provider").querySelector("input").focus()`,
    );
    await page.press("Enter");
    await page.until(holds(`${keys} td`, "openai"));
    expect(await page.evaluate("document.body.textContent.includes('sk-stored-by-mouse')")).toBe(
      false,
    );
    const answer = await chat(id, "openai/chat/completions", { model: "gpt-4o" });
    expect(answer.status).toBe(200);
    await answer.text();
    await expectFit(page);
    await press(page, "Edit", keys);
    await page.until(holds(`${keys} button`, "Save openai/default"));
    await enter(page, "Requests per period", "1", keys);
    await press(page, "Save openai/default", keys);
    await page.until(holds(`${keys} td`, "1 in 60 s"));
    await press(page, "Delete", keys);
    await press(page, "Yes, delete", keys);
    await page.until(holds(keys, "No key is stored"));
    await result(`/ai-gateway/gateways/${id}`, { method: "DELETE" });
  });

  it("limits what a gateway spends, and refuses what is found", { timeout: LONG }, async () => {
    const id = `${own}-guards`;
    await result("/ai-gateway/gateways", { method: "POST", body: JSON.stringify({ id }) });
    const page = await openConsole(browser, "gateways");
    await page.until(holds("button.link", id));
    await page.evaluate(
      `[...document.querySelectorAll("button.link")].find((one) => one.textContent === ${JSON.stringify(id)}).click()`,
    );
    await page.until(holds("#gateway-title", id));
    const limits = "section[aria-labelledby=spend-limits-title]";
    await enter(page, "US dollars", "5", limits);
    await enter(page, "In", "86400", limits);
    await press(page, "Create spend limit", limits);
    await page.until(holds(`${limits} td`, "$5.00"));
    await page.until(holds(`${limits} td`, "a day"));
    const dlp = "section[aria-labelledby=dlp-title]";
    await enter(page, "Looks for", "financial", dlp);
    await enter(page, "Name of the policy", "no-cards", dlp);
    await press(page, "Create policy", dlp);
    await page.until(holds(`${dlp} td`, "no-cards"));
    await press(page, "Save guardrails");
    await enter(page, "Question: prompt injection and jailbreaks", "FLAG");
    await press(page, "Save guardrails");
    await eventually(async () => {
      const found = await result<object>(`/ai-gateway/gateways/${id}`);
      return JSON.stringify(found).includes('"P1":"FLAG"');
    }, "the guardrails");
    expect(await result(`/ai-gateway/gateways/${id}`)).toMatchObject({
      spend_limits: { enabled: true, rules: [{ limit: 5, limitType: "cost", window: 86_400 }] },
      dlp: { enabled: true, policies: [{ id: "no-cards", action: "BLOCK" }] },
      guardrails: { prompt: { P1: "FLAG" } },
    });
    await expectFit(page);
    const card = { messages: [{ role: "user", content: "Pay with 4111 1111 1111 1111" }] };
    const refused = await chat(id, "echo/chat/completions", { model: "echo", ...card });
    expect(refused.status).toBe(400);
    await refused.text();
    await press(page, "Delete", limits);
    await press(page, "Yes, delete", limits);
    await page.until(holds(limits, "No limit"));
    await result(`/ai-gateway/gateways/${id}`, { method: "DELETE" });
  });

  it("makes a provider of one's own, and sets a price", { timeout: LONG }, async () => {
    const page = await openConsole(browser, "gateways");
    await page.click("#tab-Providers");
    await enter(page, "Name", own);
    await enter(page, "Short name", own);
    await enter(page, "Address", "https://models.example.com/v1");
    await press(page, "Create provider");
    await page.until(holds("td", `custom-${own}`));
    await expectFit(page);
    await page.click("#tab-Prices");
    await enter(page, "Provider", `custom-${own}`);
    await enter(page, "Model", "small");
    await enter(page, "Tokens in ($ per million)", "0.5");
    await enter(page, "Tokens out ($ per million)", "1.5");
    await press(page, "Create price");
    await page.until(holds("td", `custom-${own}/small`));
    await page.until(holds("td", "$1.50"));
    await expectFit(page);
    await enter(page, "Prices of the provider", `custom-${own}`);
    await page.until("document.querySelectorAll('[aria-label=Prices] tbody tr').length === 1");
    await press(page, "Delete");
    await press(page, "Yes, delete");
    await page.until(holds("main", "No price matches"));
    await page.click("#tab-Providers");
    await press(page, "Edit");
    await page.until(holds("button", `Save ${own}`));
    await tick(page, "Enabled");
    await press(page, `Save ${own}`);
    await page.until(holds(".warn-text", "off"));
    await press(page, "Delete");
    await press(page, "Yes, delete");
    await page.until(`!(${holds("td", `custom-${own}`)})`);
    expect(page.errors).toEqual([]);
  });
});
