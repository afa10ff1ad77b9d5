import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
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
  result,
  root,
  url,
} from "./console-session.ts";
import { webhookSecrets } from "./prepare-target.ts";

// The console's pages that manage the parts, in a real browser against the served runtime.

const account = inject("accountId");
/** Servers outlive a file: names of this run. */
const own = `c${Date.now().toString(36)}`;
const folder = mkdtempSync(join(tmpdir(), "causey-console-pages-"));
let browser: TestBrowser;

beforeAll(async () => {
  browser = await startBrowser(folder);
}, LONG);
afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

const at = (name: string, readOnly = false): Promise<BrowserPage> =>
  openConsole(browser, name, { readOnly });

/** The elements of a route that asks one model. */
function elements(model: string): string {
  const properties = { provider: "deepseek", model, retries: 0, timeout: 30_000 };
  const end = { elementId: "end" };
  return JSON.stringify([
    { id: "start", type: "start", outputs: { next: { elementId: "model" } } },
    { id: "model", type: "model", properties, outputs: { success: end, fallback: end } },
    { id: "end", type: "end", outputs: {} },
  ]);
}

/** The model of a gateway's only route, as it is deployed. */
async function modelOf(id: string): Promise<unknown> {
  const response = await fetch(`${root}/ai-gateway/gateways/${id}/routes`, { headers });
  const { data } = (await response.json()) as {
    data: { routes: { elements: { properties?: { model: string } }[] }[] };
  };
  return data.routes[0]?.elements[1]?.properties?.model;
}

describe("the console's page", () => {
  it("Gateways makes one, changes it and shows its token once", { timeout: LONG }, async () => {
    const page = await at("gateways");
    const id = `${own}-gateway`;
    await page.fill("#create-gateway ~ form input", id);
    await press(page, "Create", "section");
    await page.until(holds("#gateway-title", id));
    await page.fill("section[aria-labelledby=gateway-title] input[type=number]", "120");
    await press(page, "Save");
    await page.until(holds("td", "120 s"));
    const made = await result<{ cache_ttl: number; authentication: boolean }>(
      `/ai-gateway/gateways/${id}`,
    );
    expect(made).toMatchObject({ cache_ttl: 120, authentication: true });
    await press(page, "New route");
    await page.fill("section[aria-labelledby=routes-title] input", "support");
    await page.fill("section[aria-labelledby=routes-title] textarea", "[");
    await press(page, "Create and deploy");
    await page.until(holds("[role=alert]", "not JSON"));
    await page.fill("section[aria-labelledby=routes-title] textarea", elements("gpt-4o"));
    await press(page, "Create and deploy");
    await page.until(holds("td", "dynamic/support"));
    await press(page, "Edit support");
    await page.fill("section[aria-labelledby=routes-title] textarea", elements("gpt-4o-mini"));
    await expectFit(page);
    await press(page, "Deploy");
    await eventually(async () => (await modelOf(id)) === "gpt-4o-mini", "the new version");
    await press(page, "New gateway token");
    await page.until("document.querySelector('.secret')");
    const secret = await page.evaluate<string>("document.querySelector('.secret').textContent");
    const call = { method: "POST", body: JSON.stringify({ model: "m", messages: [] }) };
    const send = (gateway: string): Promise<Response> =>
      fetch(`${url}/v1/${account}/${gateway}/deepseek/chat/completions`, {
        ...call,
        headers: { "cf-aig-authorization": `Bearer ${secret}`, "content-type": "application/json" },
      });
    // It is good for this gateway alone; nobody listens behind it.
    expect((await send(id)).status).not.toBe(401);
    expect((await send("guarded")).status).toBe(401);
    await expectFit(page);
    await press(page, "Delete gateway");
    await press(page, "Yes, delete gateway");
    await page.until(`!(${holds("td", id)})`);
  });

  it(
    "Spend shows who spent what, and makes a team and a key that it limits",
    { timeout: LONG },
    async () => {
      const page = await at("spend");
      const [team, model] = [`${own}-team`, `${own}-model`];
      await page.fill("section[aria-labelledby=teams-title] form input", team);
      await page.fill("section[aria-labelledby=teams-title] input[type=number]", "5");
      await press(page, "Create team");
      await page.until(holds("section[aria-labelledby=budgets-title] td", `Team ${team}`));
      await page.until(holds("section[aria-labelledby=budgets-title] td", "$5.00 per month"));
      await page.fill("section[aria-labelledby=keys-title] form input", `${own}-ann`);
      await page.evaluate(`(() => {
      const select = document.querySelector("section[aria-labelledby=keys-title] select");
      select.value = ${JSON.stringify(team)};
      select.dispatchEvent(new Event("change", { bubbles: true }));
    })()`);
      await press(page, "Create key");
      await page.until("document.querySelector('.secret')");
      const key = await page.evaluate<string>("document.querySelector('.secret').textContent");
      const call = (): Promise<Response> =>
        fetch(`${url}/v1/${account}/default/echo/chat/completions`, {
          method: "POST",
          headers: { "cf-aig-authorization": `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }] }),
        });
      await fetch(`${root}/ai-gateway/prices`, {
        method: "PUT",
        headers,
        body: JSON.stringify({ provider: "echo", model, input: 1, output: 1, source: "a test" }),
      });
      expect((await call()).status).toBe(200);
      await eventually(async () => {
        const { rows } = await result<{ rows: { team: string }[] }>("/ai-gateway/spend?by=team");
        return rows.some((row) => row.team === team);
      }, "the request in the report");
      await page.evaluate("location.reload()");
      await page.until(holds("section[aria-labelledby=spent-title] td", team));
      await page.until("document.querySelectorAll('canvas').length === 2");
      await expectFit(page);
      await enter(page, "Time", "hour");
      await enter(page, "By", "model");
      await page.until(holds("section[aria-labelledby=spent-title] td", model));
      await page.until("document.querySelectorAll('canvas').length === 2");
      await expectFit(page);
      const row = (name: string): string =>
        `[...document.querySelectorAll("section[aria-labelledby=keys-title] tr")].find((one) => one.textContent.includes(${JSON.stringify(name)}))`;
      const pressIn = (label: string): Promise<unknown> =>
        page
          .until(
            `[...${row(`${own}-ann`)}.querySelectorAll("button")].some((one) => one.textContent.trim() === ${JSON.stringify(label)})`,
          )
          .then(() =>
            page.evaluate(
              `[...${row(`${own}-ann`)}.querySelectorAll("button")].find((one) => one.textContent.trim() === ${JSON.stringify(label)}).click()`,
            ),
          );
      await pressIn("Disable");
      await eventually(async () => (await call()).status === 401, "the key to be refused");
      await pressIn("Enable");
      await eventually(async () => (await call()).status === 200, "the key to open again");
      await pressIn("Rotate");
      await pressIn("Yes, rotate");
      await eventually(
        async () => (await call()).status === 401,
        "the former secret to be refused",
      );
      expect(page.errors).toEqual([]);
    },
  );

  it(
    "Search indexes what is chosen, with its progress, and finds it",
    { timeout: LONG },
    async () => {
      const page = await at("search");
      const id = `${own}-notes`;
      await page.fill("#create-instance ~ form input", id);
      await press(page, "Create", "section");
      await page.until(holds("#instance-title", id));
      await page.evaluate(`{
      const files = new DataTransfer();
      files.items.add(new File(["# Keys\\n\\nThe master key is rotated by a restart."], "keys.md", { type: "text/markdown" }));
      document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }));
    }`);
      await page.until(holds("td", "keys.md"));
      await page.until(holds("td .state", "completed"));
      await page.fill(
        "section[aria-labelledby=instance-title] input[type=search]",
        "rotate the master key",
      );
      await press(page, "Try");
      await page.until(holds(".chunks", "rotated by a restart"));
      await press(page, "Ask");
      await page.until(holds(".answer", "rotated by a restart"));
      await page.until(holds("h4", "Sources"));
      await page.until(holds(".chunks", "keys.md"));
      await enter(page, "Try a query", "zzzz");
      await press(page, "Try");
      await page.until(holds("[aria-label=Result]", "Nothing was found for “zzzz”"));
      await press(page, "Index again what needs it");
      await page.until(holds("[aria-label='Sync jobs'] td", "completed"));
      await expectFit(page);
      await press(page, "Delete instance");
      await press(page, "Yes, delete instance");
      await page.until(`!(${holds("td", id)})`);
    },
  );

  it(
    "Webhooks shows an event as it comes, the agent's state and why a signature failed",
    { timeout: LONG },
    async () => {
      const entity = `${own}-entity`;
      const send = (title: string, secret: string): Promise<Response> => {
        const body = JSON.stringify({ entity, type: "note", title });
        const signature = createHmac("sha256", secret).update(body).digest("hex");
        return fetch(`${url}/webhooks/generic`, {
          method: "POST",
          body,
          headers: { "content-type": "application/json", "x-signature": `sha256=${signature}` },
        });
      };
      expect((await send("first", webhookSecrets.generic)).status).toBeLessThan(300);
      const page = await at("webhooks");
      const chosen = `[...document.querySelectorAll("button.link")].find((one) => one.textContent === ${JSON.stringify(entity)})`;
      await page.until(chosen);
      await page.evaluate(`${chosen}.click()`);
      await page.until(holds("#entity-title", entity));
      await page.until(
        "document.querySelector('pre[aria-label=\"State of the agent\"]')?.textContent.includes('eventCount')",
      );
      await page.until("document.querySelectorAll('[aria-label=Events] tbody tr').length === 1");
      await send("second", webhookSecrets.generic);
      await page.until("document.querySelectorAll('[aria-label=Events] tbody tr').length === 2");
      expect((await send("third", "another secret")).status).toBe(401);
      await page.until(holds("#refused-title ~ ul", "signature"));
      await expectFit(page);
      await page.evaluate("document.querySelector('#tab-Inbound').focus()");
      await page.press("ArrowRight");
      await page.until(holds("[aria-label=Sources] td", "in the file"));
      await page.fill("main input[pattern]", own);
      await page.fill("main input[type=password]", "a secret of the sender");
      await press(page, "Create source");
      await page.until(holds("[aria-label=Sources] td", own));
      await press(page, "Edit");
      await page.until("document.querySelector('textarea')?.value.includes('generic')");
      await page.fill("textarea", '{ "scheme": }');
      await press(page, `Save ${own}`);
      await page.until(holds("main .error", "line 1, column 13: expected a value"));
      await page.fill(
        "textarea",
        '{ "scheme": "generic", "agent": "webhook-agent", "forward": true }',
      );
      await press(page, `Save ${own}`);
      await page.until(holds("[aria-label=Sources] td", "yes"));
      await press(page, "Rotate");
      await page.fill("main input[type=password]", "the next secret of it");
      await press(page, "Rotate secret");
      await page.until("!document.body.textContent.includes('New secret of')");
      await expectFit(page);
      await press(page, "Delete");
      await press(page, "Yes, delete");
      await page.until(`!(${holds("[aria-label=Sources] td", own)})`);
      await page.evaluate("document.querySelector('#tab-Sources').focus()");
      await page.press("ArrowRight");
      await page.until("document.querySelector('[aria-label=\"Dead letters\"], .muted')");
      await expectFit(page);
      await page.press("ArrowRight");
      await page.fill("main input[type=url]", `https://example.com/${own}`);
      await press(page, "Create endpoint");
      await page.until("document.querySelector('.secret')?.textContent.startsWith('whsec_')");
      await expectFit(page);
    },
  );

  it(
    "A customer's portal shows the own endpoints and attempts, by a link",
    { timeout: LONG },
    async () => {
      const applications = "/webhooks/applications";
      const body = JSON.stringify({ id: own, name: "Acme Ltd." });
      await result(applications, { method: "POST", body });
      const path = `${applications}/${own}/portal`;
      const operator = await at("webhooks");
      await press(operator, "Applications");
      const row = `[...document.querySelectorAll("[aria-label=Applications] tr")].find((one) => one.textContent.includes(${JSON.stringify(own)}))`;
      await operator.until(row);
      const button = `[...${row}.querySelectorAll("button")].find((one) => one.textContent === "New portal link")`;
      await operator.evaluate(`${button}.click()`);
      await operator.until("document.querySelector('.secret')");
      const link = await operator.evaluate<string>("document.querySelector('.secret').textContent");
      expect(link).toContain("/console/portal#causey_wl_");
      await expectFit(operator);
      const page = await browser.open(link);
      await page.until(holds("h1", "Acme Ltd."));
      expect(await page.evaluate("location.hash")).toBe("");
      await page.fill("main input[type=url]", `https://example.com/${own}`);
      await press(page, "Create endpoint");
      await page.until(holds("[aria-label=Endpoints] td", own));
      await page.until("document.querySelector('.secret')?.textContent.startsWith('whsec_')");
      await press(page, "Send test event");
      await page.until(holds("[aria-label=Endpoints] button", "Send test event ✓"));
      await press(page, "Refresh");
      await page.until(holds("[aria-label=Deliveries] td", own));
      await page.click("[aria-label=Deliveries] .link");
      await page.until(holds("pre[aria-label=Payload]", "webhook.test"));
      await expectFit(page);
      await result(path, { method: "DELETE" });
      await press(page, "Refresh");
      await page.until(holds("[role=alert]", "expired"));
    },
  );

  /** The lines within `override_codes` and its like, in pixels: one each unless a word breaks. */
  const broken = `[...document.querySelectorAll("[aria-label='All entries'] .wrap")].flatMap((place) =>
    [...place.childNodes].filter((node) => /^[{}\\w/-]{1,24}$/.test(node.textContent)).filter((node) => {
      const range = document.createRange();
      range.selectNodeContents(node);
      return range.getClientRects().length > 1;
    }).map((node) => node.textContent))`;

  it("the public table of deprecations fits, too", { timeout: LONG }, async () => {
    const page = await browser.open(`${url}/client/v4/deprecations?phase=retired`);
    await page.until(holds("h2", "setting-minify.01"));
    await expectFit(page);
  });

  it("the page of the API fits, and breaks no name of a field", { timeout: LONG }, async () => {
    const page = await browser.open(`${url}/docs`);
    await page.until("document.readyState === 'complete'");
    await page.until("document.querySelectorAll('td code').length > 1000");
    await page.width(390);
    const names = `[...document.querySelectorAll("td code")].filter((name) => name.getClientRects().length > 1)`;
    await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
    expect(await page.evaluate(`${names}.map((name) => name.textContent)`)).toEqual([]);
    await page.until("document.documentElement.scrollWidth <= 390");
  });

  it("Deprecations tells who still uses what", { timeout: LONG }, async () => {
    await (await fetch(`${root}/devices`, { headers })).text();
    const page = await at("deprecations");
    await page.until(holds("[aria-label='Uses of what is deprecated'] td", "devices.01"));
    await page.until("document.querySelectorAll('[aria-label=\"All entries\"] wbr').length > 500");
    expect(await page.evaluate(broken)).toEqual([]);
    await page.fill("input[type=search]", "brotli");
    await page.until(
      "document.querySelectorAll('[aria-label=\"All entries\"] tbody tr').length < 10",
    );
    await expectFit(page);
  });

  it("Settings makes a token that may what was chosen", { timeout: LONG }, async () => {
    const page = await at("settings");
    await page.until("document.querySelectorAll('fieldset label').length > 3");
    await page.fill("section[aria-labelledby=tokens-title] input:not([type=checkbox])", own);
    await page.evaluate(
      `[...document.querySelectorAll("fieldset label")].find((one) => one.textContent === "AI Search Read").querySelector("input").click()`,
    );
    await press(page, "Create token");
    await page.until("document.querySelector('.secret')");
    const secret = await page.evaluate<string>("document.querySelector('.secret').textContent");
    const mine = { headers: { authorization: `Bearer ${secret}` } };
    expect((await fetch(`${root}/ai-search/instances`, mine)).status).toBe(200);
    expect((await fetch(`${root}/tokens`, mine)).status).toBe(403);
    await page.until(holds("td", own));
    expect(await page.evaluate("document.querySelectorAll('.part').length")).toBe(4);
    await expectFit(page);
  });

  it("changes nothing in a session that only reads", { timeout: LONG }, async () => {
    const page = await at("gateways", true);
    await page.until("document.querySelector('#create-gateway ~ form button')");
    expect(
      await page.evaluate(
        "[...document.querySelectorAll('main form button')].every((one) => one.disabled)",
      ),
    ).toBe(true);
    // And the server does not rely on that.
    const status = await page.evaluate(
      `fetch("console/api/client/v4/accounts/${account}/ai-gateway/gateways", { method: "POST", headers: { "x-causey-console": "1" }, body: "{}" }).then(({ status }) => status)`,
    );
    expect(status).toBe(403);
  });
});
