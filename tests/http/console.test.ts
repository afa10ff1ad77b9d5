import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { eventually } from "../cases/eventually.ts";
import { type BrowserPage, startBrowser, type TestBrowser } from "./browser-page.ts";

// The web console in a real browser, against the served runtime. Every page has no serious finding of axe, light and dark.

const LONG = 120_000;
const url = inject("baseUrl");
const token = inject("token");
const account = inject("accountId");
const folder = mkdtempSync(join(tmpdir(), "causey-console-"));
let browser: TestBrowser;

beforeAll(async () => {
  browser = await startBrowser(folder);
}, LONG);

afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A page that has logged in by a link. */
async function loggedIn(): Promise<BrowserPage> {
  const headers = { authorization: `Bearer ${token}` };
  const made = await fetch(`${url}/console/links`, { method: "POST", headers });
  const { path } = (await made.json()) as { path: string };
  const page = await browser.open(`${url}${path}`);
  await page.until("document.querySelector('nav')");
  return page;
}

async function expectAccessible(page: BrowserPage): Promise<void> {
  for (const scheme of ["light", "dark"] as const) {
    await page.scheme(scheme);
    expect(await page.findings()).toEqual([]);
  }
}

const text = (selector: string): string =>
  `document.querySelector(${JSON.stringify(selector)})?.textContent`;

describe("the console in a browser", () => {
  it("takes a token that is valid, and tells of one that is not", { timeout: LONG }, async () => {
    const page = await browser.open(`${url}/console`);
    await page.until("document.querySelector('input[type=password]')");
    await expectAccessible(page);
    await page.fill("input[type=password]", "not-the-token-0123456789");
    await page.click("button[type=submit]");
    await page.until("document.querySelector('[role=alert]')");
    expect(await page.evaluate(text("[role=alert]"))).toContain("not valid");
    await page.fill("input[type=password]", token);
    await page.click("input[type=checkbox]");
    await page.click("button[type=submit]");
    await page.until("document.querySelector('.badge')");
    expect(await page.evaluate(text(".badge"))).toBe("Read only");
    expect(await page.evaluate("document.cookie")).toBe("");
  });

  it("logs in by a link, which leaves the address", { timeout: LONG }, async () => {
    const page = await loggedIn();
    expect(await page.evaluate("location.hash")).toBe("");
    await page.until("document.querySelector('.live.on')");
    expect(page.errors.filter((error) => error.includes("Content Security"))).toEqual([]);
  });

  it("shows the hour in figures and charts, and how every part is", { timeout: LONG }, async () => {
    const page = await loggedIn();
    await fetch(`${url}/client/v4/accounts/${account}/tokens`).then((answer) => answer.text());
    await page.until("document.querySelectorAll('canvas').length === 2");
    await page.until(
      `[...document.querySelectorAll('tbody th')].some((cell) => cell.textContent === 'platform')`,
    );
    expect(
      await page.evaluate(
        "[...document.querySelectorAll('.part strong')].map((one) => one.textContent)",
      ),
    ).toEqual(expect.arrayContaining(["server", "database", "rendering", "search"]));
    await expectAccessible(page);
    await page.width(390);
    await page.until("document.documentElement.scrollWidth <= 390");
  });

  it(
    "shows a request as it comes, with what the gateway stored of it",
    { timeout: LONG },
    async () => {
      const page = await loggedIn();
      await page.evaluate("location.hash = '#/logs'");
      await page.until("document.querySelector('#tab-Live')");
      await page.click("#tab-Live");
      await page.until("document.querySelector('table.log')");
      const send = async (): Promise<string> => {
        const answer = await fetch(`${url}/v1/${account}/default/echo/chat/completions`, {
          method: "POST",
          headers: {
            "cf-aig-authorization": `Bearer ${token}`,
            "content-type": "application/json",
          },
          body: JSON.stringify({
            model: "echo",
            messages: [{ role: "user", content: "Seen in the console" }],
          }),
        });
        await answer.text();
        return answer.headers.get("cf-aig-request-id") ?? "";
      };
      const isShown = `document.querySelectorAll("table.log tbody tr").length === 1`;
      // Of very many requests in one second the log shows the newest: other tests send many.
      await eventually(async () => {
        await page.fill("input[type=search]", await send());
        return page.comesTrue(isShown, 2000);
      }, "the request is shown");
      await page.click("table.log .link");
      await page.until(
        "document.querySelector('.bodies pre')?.textContent.includes('Seen in the console')",
      );
      expect(await page.evaluate(text(".detail .detail-body .detail-body dl"))).toContain("echo");
      await expectAccessible(page);
    },
  );

  it("streams a chat in the playground, by keyboard too", { timeout: LONG }, async () => {
    const page = await loggedIn();
    await page.evaluate("location.hash = '#/playground'");
    await page.until("document.querySelector('textarea')");
    await page.fill("textarea", "A question from the playground");
    await page.click("button[type=submit]");
    await page.until(
      "document.querySelector('.answer')?.textContent === 'A question from the playground'",
    );
    await expectAccessible(page);
    await page.evaluate("document.querySelector('#tab-Chat').focus()");
    for (const tab of ["Render", "Search", "Webhook"]) {
      await page.press("ArrowRight");
      await page.until(
        `document.querySelector('#tab-${tab}').getAttribute('aria-selected') === 'true'`,
      );
      await expectAccessible(page);
    }
  });
});
