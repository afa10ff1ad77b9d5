import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { eventually } from "../cases/eventually.ts";
import { type BrowserPage, startBrowser, type TestBrowser } from "./browser-page.ts";
import { headers, LONG, root, url } from "./console-session.ts";

// The search box on a page of another origin, in a real browser against the served runtime.

const id = `box-${randomUUID().slice(0, 8)}`;
const folder = mkdtempSync(join(tmpdir(), "causey-search-box-"));
let browser: TestBrowser;
let site: Server;
let origin: string;
let endpoint: string;

/** A page with two lines of ours, and a policy that allows no code and no style of its own. */
function pageText(attributes: string): string {
  return `<!doctype html><html lang="en"><head><title>Ferries</title>
    <meta name="viewport" content="width=device-width">
    <script type="module" src="${url}/ai-search/${endpoint}/search.js"></script></head>
    <body><main><h1>Ferries</h1><causey-search ${attributes}></causey-search></main></body></html>`;
}

beforeAll(async () => {
  browser = await startBrowser(folder);
  site = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? "/", "http://x");
    response.writeHead(200, {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": `default-src 'none'; script-src ${url}; connect-src ${url}`,
    });
    response.end(pageText(searchParams.get("with") ?? ""));
  }).listen(0, "127.0.0.1");
  await once(site, "listening");
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const public_endpoint_params = { enabled: true, authorized_hosts: [origin] };
  const created = await fetch(`${root}/ai-search/instances`, {
    method: "POST",
    headers,
    body: JSON.stringify({ id, public_endpoint_params }),
  });
  const { result } = (await created.json()) as { result: { public_endpoint_id: string } };
  endpoint = result.public_endpoint_id;
  for (const [key, text] of [
    ["ferry.md", "# Timetable\n\nThe ferry leaves the island at noon."],
    ["<b>tide</b>.md", "# Tides\n\nThe <img src=x onerror=alert(1)> tide is high at noon."],
  ] as const) {
    const form = new FormData();
    form.set("file", new File([text], key, { type: "text/markdown" }));
    form.set("wait_for_completion", "true");
    const { authorization } = headers;
    const path = `${root}/ai-search/namespaces/default/instances/${id}/items`;
    await fetch(path, { method: "POST", headers: { authorization }, body: form });
  }
}, LONG);
afterAll(async () => {
  await browser.close();
  site.close();
  await fetch(`${root}/ai-search/instances/${id}`, { method: "DELETE", headers });
  rmSync(folder, { recursive: true, force: true });
});

const BOX = "document.querySelector('causey-search').shadowRoot";
const INPUT = `${BOX}.querySelector('input')`;

const open = async (attributes = 'link="/pages/{key}"'): Promise<BrowserPage> => {
  const page = await browser.open(`${origin}/?with=${encodeURIComponent(attributes)}`);
  await page.until(`${BOX}?.querySelector('input').getAttribute('aria-label')`);
  return page;
};

async function type(page: BrowserPage, text: string): Promise<void> {
  await page.evaluate(`{
    ${INPUT}.focus();
    ${INPUT}.value = ${JSON.stringify(text)};
    ${INPUT}.dispatchEvent(new Event("input", { bubbles: true }));
  }`);
}

/** Nothing serious in light and dark, and nothing beside the page on a phone. */
async function expectClean(page: BrowserPage): Promise<void> {
  for (const scheme of ["light", "dark"] as const) {
    await page.scheme(scheme);
    expect(await page.findings()).toEqual([]);
  }
  await page.width(390);
  await page.until("document.documentElement.scrollWidth <= 390");
  await page.width(1280);
}

it("finds while somebody types, and is used by keyboard", { timeout: LONG }, async () => {
  const page = await open();
  await expectClean(page);
  await type(page, "noo");
  await page.until(`${BOX}.querySelectorAll('[role=option]').length === 2`);
  expect(await page.evaluate(`${INPUT}.getAttribute('aria-expanded')`)).toBe("true");
  expect(await page.evaluate(`${BOX}.querySelector('[role=status]').textContent`)).toBe(
    "2 results",
  );
  expect(await page.evaluate(`${BOX}.querySelector('mark').textContent`)).toBe("noon");
  await expectClean(page);
  await page.press("ArrowDown");
  await page.until(`${INPUT}.getAttribute('aria-activedescendant') === 'option-0'`);
  expect(
    await page.evaluate(`${BOX}.querySelector('#option-0').getAttribute('aria-selected')`),
  ).toBe("true");
  await expectClean(page);
  await page.press("Escape");
  await page.until(`${BOX}.querySelector('.panel').hidden`);
  await page.press("ArrowDown");
  await page.until(`!${BOX}.querySelector('.panel').hidden`);
  await page.press("Enter");
  await page.until("location.pathname.startsWith('/pages/')");
  expect(page.errors).toEqual([]);
  // The choice is told although the page is left.
  await eventually(async () => {
    const response = await fetch(`${root}/ai-search/instances/${id}/questions`, { headers });
    const { result } = (await response.json()) as {
      result: { question: string; clicks: number }[];
    };
    return result.some(({ question, clicks }) => question === "noo" && clicks === 1);
  }, "the click");
});

it("shows texts of strangers as texts", { timeout: LONG }, async () => {
  const page = await open();
  await type(page, "tide");
  await page.until(`${BOX}.querySelectorAll('[role=option]').length > 0`);
  expect(await page.evaluate(`${BOX}.querySelectorAll('img, b').length`)).toBe(0);
  expect(await page.evaluate(`${BOX}.querySelector('.text').textContent`)).toContain("<img");
  expect(page.errors).toEqual([]);
});

it("streams an answer with its sources on Enter", { timeout: LONG }, async () => {
  const page = await open();
  await type(page, "When does the ferry leave?");
  await page.press("Enter");
  // The sources come first, and the answer piece by piece.
  await page.until(`${BOX}.querySelector('.answer a')`);
  await page.until(`${BOX}.querySelector('.answer p')?.textContent.includes('noon')`);
  expect(await page.evaluate(`${BOX}.querySelector('.answer a').getAttribute('href')`)).toBe(
    `${origin}/pages/ferry.md`,
  );
  await page.until(`${BOX}.querySelector('[role=status]').textContent.includes('noon')`);
  await expectClean(page);
  expect(page.errors).toEqual([]);
});

it("says in words, also those of the page, that nothing was found", { timeout: LONG }, async () => {
  const texts = JSON.stringify({ none: "Nichts gefunden", label: "Suche" }).replaceAll(
    '"',
    "&quot;",
  );
  const page = await open(`no-answers theme="dark" texts="${texts}"`);
  await type(page, "zzzzqqqq");
  await page.until(`${BOX}.querySelector('[role=status]').textContent === 'Nichts gefunden'`);
  expect(await page.evaluate(`${BOX}.querySelector('button').hidden`)).toBe(true);
  expect(await page.evaluate(`${INPUT}.getAttribute('aria-label')`)).toBe("Suche");
  await expectClean(page);
});
