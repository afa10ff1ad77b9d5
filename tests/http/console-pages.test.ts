import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { eventually } from "../cases/eventually.ts";
import { type BrowserPage, startBrowser, type TestBrowser } from "./browser-page.ts";
import { webhookSecrets } from "./prepare-target.ts";

// The console's pages that manage the parts, in a real browser against the served runtime.

const LONG = 120_000;
const url = inject("baseUrl");
const token = inject("token");
const account = inject("accountId");
const root = `${url}/client/v4/accounts/${account}`;
const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
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

/** A session by token on a page of the console. */
async function at(name: string, readOnly = false): Promise<BrowserPage> {
  const page = await browser.open(`${url}/console#/${name}`);
  await page.until("document.querySelector('input[type=password]')");
  await page.fill("input[type=password]", token);
  if (readOnly) await page.click("input[type=checkbox]");
  await page.click("button[type=submit]");
  await page.until("document.querySelector('.live.on')");
  await page.until(
    `document.querySelector('h1').textContent.toLowerCase() === ${JSON.stringify(name)}`,
  );
  return page;
}

/** Nothing serious in light and dark, and nothing beside the page on a phone. */
async function expectFit(page: BrowserPage): Promise<void> {
  for (const scheme of ["light", "dark"] as const) {
    await page.scheme(scheme);
    expect(await page.findings()).toEqual([]);
  }
  await page.width(390);
  await page.until("document.documentElement.scrollWidth <= 390");
  await page.width(1200);
}

/** Presses the button that says this, within what a selector finds. */
function press(page: BrowserPage, label: string, within = "main"): Promise<unknown> {
  const found = `[...document.querySelectorAll(${JSON.stringify(`${within} button`)})].find((one) => one.textContent.trim() === ${JSON.stringify(label)})`;
  return page.until(found).then(() => page.evaluate(`${found}.click()`));
}

const holds = (selector: string, text: string): string =>
  `[...document.querySelectorAll(${JSON.stringify(selector)})].some((one) => one.textContent.includes(${JSON.stringify(text)}))`;

async function result<T>(path: string, init: RequestInit = {}): Promise<T> {
  const response = await fetch(`${root}${path}`, { headers, ...init });
  return ((await response.json()) as { result: T }).result;
}

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
      await page.until("document.querySelector('[aria-label=\"Dead letters\"], .muted')");
      await expectFit(page);
      await page.press("ArrowRight");
      await page.fill("main input[type=url]", `https://example.com/${own}`);
      await press(page, "Add endpoint");
      await page.until("document.querySelector('.secret')?.textContent.startsWith('whsec_')");
      await expectFit(page);
    },
  );

  it("Deprecations tells who still uses what", { timeout: LONG }, async () => {
    await (await fetch(`${root}/devices`, { headers })).text();
    const page = await at("deprecations");
    await page.until(holds("[aria-label='Uses of what is deprecated'] td", "devices.01"));
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

  it("Logs sends a stored request again", { timeout: LONG }, async () => {
    const body = JSON.stringify({ model: "echo", messages: [{ role: "user", content: own }] });
    const send = async (): Promise<string> => {
      const answer = await fetch(`${url}/v1/${account}/default/echo/chat/completions`, {
        method: "POST",
        headers: { "cf-aig-authorization": `Bearer ${token}`, "content-type": "application/json" },
        body,
      });
      await answer.text();
      return answer.headers.get("cf-aig-request-id") ?? "";
    };
    const page = await at("logs");
    // The page shows the newest requests of the whole server: other files may push one out before it is seen.
    await eventually(async () => {
      await page.fill("input[type=search]", await send());
      return page.comesTrue("document.querySelectorAll('table.log tbody tr').length === 1", 5000);
    }, "the request is shown");
    await page.click("table.log .link");
    // The request, its one attempt, and how long each took.
    await page.until("document.querySelectorAll('.timeline li').length >= 2");
    await page.until(holds(".timeline .name", "echo"));
    await page.until(holds("main button", "Copy as SDK call"));
    await press(page, "Send again");
    await press(page, "Yes, send again");
    await page.until(
      `document.querySelector('pre[aria-label="Answer now"]')?.textContent.includes(${JSON.stringify(own)})`,
    );
    await expectFit(page);
  });

  it(
    "Logs delivers a webhook again, and finds the event of another",
    { timeout: LONG },
    async () => {
      const send = (path: string, body: object): Promise<{ id: string }> =>
        result(path, { method: "POST", body: JSON.stringify(body) });
      const at404 = await send("/webhooks/endpoints", {
        url: `https://example.com/${own}`,
        types: [own],
      });
      const message = await send("/webhooks/send", { type: own, payload: { id: 7 } });
      const page = await at("logs");
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
    },
  );

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
