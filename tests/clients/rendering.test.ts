import Cloudflare from "cloudflare";
import { describe, expect, inject, it } from "vitest";
import { itUnless } from "../config/it-unless.ts";
import { targetName } from "../http/target.ts";

const client = new Cloudflare({
  apiToken: inject("token"),
  baseURL: `${inject("baseUrl")}/client/v4`,
  maxRetries: 0,
});
const account_id = inject("accountId");

const failureOf = async (
  work: Promise<unknown>,
): Promise<InstanceType<typeof Cloudflare.APIError>> => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Cloudflare.APIError))
    throw new TypeError("The call did not fail as an APIError");
  return error;
};

const probe = await client.browserRendering.content.create({ account_id, html: "<p>x" }).then(
  () => undefined,
  (error: unknown) =>
    error instanceof Cloudflare.APIError && error.status === 503 ? error.message : undefined,
);
if (probe !== undefined) console.info(`The browser of ${targetName()} is missing: ${probe}`);

describe("cloudflare browserRendering", () => {
  itUnless(probe)("pdf.create() resolves to the PDF", async () => {
    const response = await client.browserRendering.pdf.create({
      account_id,
      html: "<h1>Hello</h1>",
    });
    expect(response.headers.get("content-type")).toBe("application/pdf");
    const bytes = new Uint8Array(await response.arrayBuffer());
    expect(new TextDecoder().decode(bytes.slice(0, 5))).toBe("%PDF-");
  });

  it("markdown.create() resolves to the text", async () => {
    const html = "<title>T</title><h1>Hello</h1><p>World</p>";
    const text = await client.browserRendering.markdown.create({ account_id, html });
    expect(text).toBe('---\ntitle: "T"\n---\n\n# Hello\n\nWorld');
  });

  it("answers a page without a browser on request", async () => {
    // The official types have `render` for crawl only; what is not in them is sent as it is.
    const body = { account_id, html: "<a href='http://example.com/a'>x</a>", render: false };
    expect(await client.browserRendering.links.create(body)).toEqual(["http://example.com/a"]);
    expect(await client.browserRendering.content.create(body)).toBe(body.html);
    const elements = [{ selector: "a" }];
    const [scraped] = await client.browserRendering.scrape.create({ ...body, elements });
    expect(scraped?.results).toMatchObject([{ text: "x" }]);
  });

  it("json.create() resolves to the data that the model finds", async () => {
    // The model answers with a text first; the official types have `render` for crawl only.
    const body = { account_id, html: "<h1>Bike</h1>", render: false };
    const json_schema = { type: "object", required: ["name"] };
    const response_format = { type: "json_schema", json_schema };
    expect(await client.browserRendering.json.create({ ...body, response_format })).toEqual({
      name: "Bike",
    });
    const failure = await failureOf(client.browserRendering.json.create({ ...body, prompt: "no" }));
    expect([failure.status, failure.errors[0]?.code]).toEqual([422, 10540]);
    expect(failure.error).toMatchObject({ rawAiResponse: "Hello from upstream" });
  });

  it("sends cacheTTL where it belongs", async () => {
    expect(
      await client.browserRendering.markdown.create({ account_id, html: "<p>x", cacheTTL: 0 }),
    ).toBe("x");
  });

  itUnless(probe)("content, links, scrape and snapshot resolve to their results", async () => {
    const html = '<a href="http://example.com/">a</a>';
    expect(await client.browserRendering.content.create({ account_id, html })).toContain(
      "<a href=",
    );
    expect(await client.browserRendering.links.create({ account_id, html })).toEqual([
      "http://example.com/",
    ]);
    const scraped = await client.browserRendering.scrape.create({
      account_id,
      html,
      elements: [{ selector: "a" }],
    });
    expect(scraped[0]?.selector).toBe("a");
    const snapshot = await client.browserRendering.snapshot.create({ account_id, html });
    expect(snapshot.content).toContain("<a href=");
  });

  itUnless(probe)("accessibilityTree resolves to the tree", async () => {
    const html = "<title>T</title><h1>Hi</h1><button disabled>Go<b> on</b></button>";
    const { accessibilityTree: tree } = await client.browserRendering.accessibilityTree.create({
      account_id,
      html,
    });
    expect(tree).toEqual({
      role: "RootWebArea",
      name: "T",
      children: [
        { role: "heading", name: "Hi", level: 1 },
        { role: "button", name: "Go on", disabled: true },
      ],
    });
    const part = { account_id, html, root: "button", interestingOnly: true };
    expect(await client.browserRendering.accessibilityTree.create(part)).toEqual({
      accessibilityTree: { role: "button", name: "Go on", disabled: true },
    });
    const none = { account_id, html, root: "#none" };
    expect(await client.browserRendering.accessibilityTree.create(none)).toEqual({
      accessibilityTree: null,
    });
    const snapshot = await client.browserRendering.snapshot.create({
      account_id,
      html,
      formats: ["accessibilityTree", "markdown"],
    });
    expect(Object.keys(snapshot).toSorted()).toEqual(["accessibilityTree", "markdown"]);
    const wrong = await failureOf(
      client.browserRendering.accessibilityTree.create({ account_id, html, root: "[[" }),
    );
    expect([wrong.status, wrong.errors[0]?.message]).toEqual([400, 'root: "[[" is not a selector']);
  });

  it("decodes errors with their codes", async () => {
    const blocked = await failureOf(
      client.browserRendering.pdf.create({ account_id, url: "http://127.0.0.1/" }),
    );
    expect([blocked.status, blocked.errors[0]?.code]).toEqual([400, 5010]);
    const stranger = new Cloudflare({ apiToken: "wrong", baseURL: client.baseURL, maxRetries: 0 });
    const denied = await failureOf(
      stranger.browserRendering.markdown.create({ account_id, html: "x" }),
    );
    expect([denied.status, denied.errors[0]?.code]).toEqual([401, 10000]);
  });

  itUnless(probe)("decodes the site's failures", async () => {
    const late = await failureOf(
      client.browserRendering.markdown.create({
        account_id,
        html: "<script></script>",
        waitForSelector: { selector: "#never", timeout: 100 },
      }),
    );
    expect([late.status, late.errors[0]?.code]).toEqual([422, 6002]);
  });
});
