import { expect, inject } from "vitest";
import type { BrowserPage, TestBrowser } from "./browser-page.ts";

// What the tests of the console's pages share: a session in a real browser, and the API beside it.

const token = inject("token");
/** The server under test, and its account in the API. */
export const url: string = inject("baseUrl");
export const root = `${url}/client/v4/accounts/${inject("accountId")}`;
/** The headers of a request with the operator's token. */
export const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };

/** Milliseconds of one test: it drives a browser. */
export const LONG = 120_000;

/** Opens a page of the console and logs in by token. */
export async function openConsole(
  browser: TestBrowser,
  name: string,
  { readOnly = false, at = url }: { readonly readOnly?: boolean; readonly at?: string } = {},
): Promise<BrowserPage> {
  const page = await browser.open(`${at}/console#/${name}`);
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
export async function expectFit(page: BrowserPage): Promise<void> {
  for (const scheme of ["light", "dark"] as const) {
    await page.scheme(scheme);
    expect(await page.findings()).toEqual([]);
  }
  await page.width(390);
  await page.until("document.documentElement.scrollWidth <= 390");
  await page.width(1280);
}

/** Presses the button that says this, within what a selector finds. */
export async function press(page: BrowserPage, label: string, within = "main"): Promise<void> {
  const found = `[...document.querySelectorAll(${JSON.stringify(`${within} button`)})].find((one) => !one.disabled && one.textContent.trim() === ${JSON.stringify(label)})`;
  await page.until(found);
  await page.evaluate(`${found}.click()`);
}

/** Types into the field with this label, or chooses there. */
export async function enter(
  page: BrowserPage,
  label: string,
  value: string,
  within = "main",
): Promise<void> {
  const found = `[...document.querySelectorAll(${JSON.stringify(`${within} label`)})].find((one) => one.firstChild.textContent.trim() === ${JSON.stringify(label)})?.querySelector("input, select, textarea")`;
  await page.until(found);
  await page.evaluate(`{
    const field = ${found};
    const proto = Object.getPrototypeOf(field);
    Object.getOwnPropertyDescriptor(proto, "value").set.call(field, ${JSON.stringify(value)});
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.dispatchEvent(new Event("change", { bubbles: true }));
  }`);
}

/** Clicks the box with this label. */
export async function tick(page: BrowserPage, label: string, within = "main"): Promise<void> {
  const found = `[...document.querySelectorAll(${JSON.stringify(`${within} label.choice`)})].find((one) => one.textContent.trim() === ${JSON.stringify(label)})?.querySelector("input")`;
  await page.until(found);
  await page.evaluate(`${found}.click()`);
}

/** An expression: whether something that a selector finds contains a text. */
export const holds = (selector: string, text: string): string =>
  `[...document.querySelectorAll(${JSON.stringify(selector)})].some((one) => one.textContent.includes(${JSON.stringify(text)}))`;

/** The result of a request to the API of the account. */
export async function result<T>(path: string, init: RequestInit = {}): Promise<T> {
  const response = await fetch(`${root}${path}`, { headers, ...init });
  return ((await response.json()) as { result: T }).result;
}
