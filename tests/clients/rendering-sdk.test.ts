import Cloudflare from "cloudflare";
import { describe, expect, inject, it } from "vitest";
import { itUnless } from "../config/it-unless.ts";

const client = new Cloudflare({
  apiToken: inject("token"),
  baseURL: `${inject("baseUrl")}/client/v4`,
  maxRetries: 0,
});
const account_id = inject("accountId");
const { browserRendering: rendering } = client;
const { devtools } = rendering;
const html = "<title>T</title><p>a</p><a href='http://example.com/a'>b</a>";
const page = { account_id, html };
// The official types have `render` for crawl only; what is not in them is sent as it is.
const still = { ...page, render: false };

/** The methods of a resource and of those below it, e.g. `devtools.session.list`. */
function methodsOf(resource: object, path: string): string[] {
  const found: string[] = [];
  for (
    let prototype: unknown = Object.getPrototypeOf(resource);
    prototype !== null && typeof prototype === "object" && prototype !== Object.prototype;
    prototype = Object.getPrototypeOf(prototype)
  )
    for (const name of Object.getOwnPropertyNames(prototype))
      if (name !== "constructor" && !name.startsWith("_")) found.push(`${path}${name}`);
  for (const [name, below] of Object.entries(resource))
    if (below !== null && typeof below === "object" && !name.startsWith("_"))
      found.push(...methodsOf(below, `${path}${name}.`));
  return [...new Set(found)];
}

/** What is answered without a browser too, and what it resolves to. */
const anywhere: Record<string, () => Promise<void>> = {
  "markdown.create": async () =>
    expect(await rendering.markdown.create(page)).toContain("[b](http://example.com/a)"),
  "content.create": async () => expect(await rendering.content.create(still)).toBe(html),
  "links.create": async () =>
    expect(await rendering.links.create(still)).toEqual(["http://example.com/a"]),
  "scrape.create": async () =>
    expect(
      await rendering.scrape.create({ ...still, elements: [{ selector: "p" }] }),
    ).toMatchObject([{ selector: "p", results: [{ text: "a", html: "a" }] }]),
  "json.create": async () => {
    const json_schema = { type: "object", required: ["name"] };
    const body = {
      ...still,
      html: "<h1>Bike</h1>",
      response_format: { type: "json_schema", json_schema },
    };
    expect(await rendering.json.create(body)).toEqual({ name: "Bike" });
  },
};

/** What needs a browser. */
const browserOnly: Record<string, () => Promise<void>> = {
  "pdf.create": async () => {
    const response = await rendering.pdf.create(page);
    expect(response.headers.get("content-type")).toBe("application/pdf");
  },
  "screenshot.create": async () => {
    const response = await rendering.screenshot.create(page).asResponse();
    const bytes = new Uint8Array(await response.arrayBuffer());
    expect([...bytes.subarray(1, 4)]).toEqual([80, 78, 71]);
  },
  "snapshot.create": async () => {
    const snapshot = await rendering.snapshot.create(page);
    expect(snapshot.content).toContain("<p>a</p>");
    expect(snapshot.screenshot).toMatch(/^iVBOR/u);
  },
  "accessibilityTree.create": async () =>
    expect(await rendering.accessibilityTree.create(page)).toMatchObject({
      accessibilityTree: { role: "RootWebArea", name: "T" },
    }),
};

const session = "s";
const inSession = { account_id, session_id: session };

/** What is not here: each says why. */
const refused: Record<string, readonly [call: () => Promise<unknown>, reason: RegExp]> = {
  "devtools.session.list": [() => devtools.session.list({ account_id }), /nothing to list/u],
  "devtools.session.get": [() => devtools.session.get(session, { account_id }), /leaves one/u],
  "devtools.browser.create": [() => devtools.browser.create({ account_id }), /stay open/u],
  "devtools.browser.launch": [() => devtools.browser.launch({ account_id }), /stay open/u],
  "devtools.browser.connect": [
    () => devtools.browser.connect(session, { account_id }),
    /none to connect to/u,
  ],
  "devtools.browser.delete": [
    () => devtools.browser.delete(session, { account_id }),
    /none to connect to or to close/u,
  ],
  "devtools.browser.version": [() => devtools.browser.version(session, { account_id }), /readyz/u],
  "devtools.browser.protocol": [
    () => devtools.browser.protocol(session, { account_id }),
    /protocol/u,
  ],
  "devtools.browser.liveView.create": [
    () => devtools.browser.liveView.create(session, { account_id }),
    /Live views/u,
  ],
  "devtools.browser.page.get": [
    () => devtools.browser.page.get("t", inSession),
    /Connections to a page/u,
  ],
  ...Object.fromEntries(
    (
      [
        ["create", () => devtools.browser.targets.create(session, { account_id })],
        ["list", () => devtools.browser.targets.list(session, { account_id })],
        ["activate", () => devtools.browser.targets.activate("t", inSession)],
        ["close", () => devtools.browser.targets.close("t", inSession)],
        ["get", () => devtools.browser.targets.get("t", inSession)],
      ] as const
    ).map(([name, call]) => [`devtools.browser.targets.${name}`, [call, /one page of its own/u]]),
  ),
};

const probe = await rendering.content.create(page).then(
  () => undefined,
  (error: unknown) =>
    error instanceof Cloudflare.APIError && error.status === 503 ? error.message : undefined,
);

describe("every method of the official browserRendering", () => {
  it("is in one of the tables of this file", () => {
    const all = methodsOf(rendering, "").filter((name) => !name.startsWith("crawl."));
    const known = [anywhere, browserOnly, refused].flatMap((table) => Object.keys(table));
    expect(all.toSorted()).toEqual(known.toSorted());
  });

  it.each(Object.entries(anywhere))("%s() answers without a browser", (_, call) => call());

  for (const [name, call] of Object.entries(browserOnly))
    itUnless(probe)(`${name}() answers`, call);

  it.each(Object.entries(refused))("%s() says why it is not here", async (_, [call, reason]) => {
    const failure: unknown = await call().then(
      () => null,
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({ status: 501, errors: [{ code: 10501 }] });
    expect(String(failure)).toMatch(reason);
    expect(String(failure)).toContain("not part of causey");
  });
});
