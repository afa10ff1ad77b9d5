import { describe, expect, it } from "vitest";
import { utf8 } from "../../../../core/crypto/encoding.ts";
import { mainContent } from "../../../../core/rendering/extract/mod.ts";
import { TransportError } from "../../../../core/net/transport-error.ts";
import { crawlUnderTest, type PlayedPage } from "../../../fakes/rendering-crawl.ts";

const root = "https://example.com";
const links = (...to: string[]): string => to.map((href) => `<a href="${href}">x</a>`).join("");

describe("a page of a crawl that fails", () => {
  /** A page whose first attempts fail. */
  const failing = (times: number, failure: () => PlayedPage, page: PlayedPage = "<p>x") => {
    let asked = 0;
    return async (): Promise<PlayedPage> => ((asked += 1) <= times ? failure() : page);
  };
  const reset = (): never => {
    throw new TransportError("broken", "reset by peer");
  };
  const busy = (): PlayedPage => ({
    status: 503,
    headers: [
      ["content-type", "text/html"],
      ["retry-after", "0"],
    ],
    body: utf8("<title>Busy</title><p>later"),
  });

  it("is asked for again, and its record tells how often", async () => {
    const { crawl } = await crawlUnderTest({
      [`${root}/`]: links("/reset", "/busy", "/fine"),
      [`${root}/reset`]: failing(1, reset),
      [`${root}/busy`]: failing(2, busy),
      [`${root}/fine`]: "<p>fine",
    });
    const { status, records } = await crawl({ url: root, source: "links" });
    expect(status).toBe("completed");
    expect(records.map(({ status: end, attempts }) => [end, attempts])).toEqual([
      ["completed", undefined],
      ["completed", 2],
      ["completed", 3],
      ["completed", undefined],
    ]);
  });

  it("has failed after three attempts, and its record has what the site said at last", async () => {
    const { crawl } = await crawlUnderTest({
      [`${root}/`]: links("/busy", "/gone"),
      [`${root}/busy`]: failing(9, busy),
    });
    const { records } = await crawl({ url: root, source: "links" });
    expect(records[1]).toMatchObject({
      status: "errored",
      error: "HTTP 503",
      attempts: 3,
      html: "<title>Busy</title><p>later",
      metadata: { status: 503, title: "Busy" },
    });
    // An answer that will be the same again is not asked for twice.
    expect(records[2]).toMatchObject({ error: "HTTP 404" });
    expect(records[2]).not.toHaveProperty("attempts");
  });

  it("gets one attempt where the host has failed too often in a row", async () => {
    const { crawl } = await crawlUnderTest({
      [`${root}/`]: links("/a", "/b", "/c"),
      [`${root}/a`]: failing(9, reset),
      [`${root}/b`]: failing(9, reset),
      [`${root}/c`]: failing(9, reset),
    });
    const { records } = await crawl({ url: root, source: "links" });
    expect(records.map(({ status, attempts }) => [status, attempts])).toEqual([
      ["completed", undefined],
      ["errored", 3],
      ["errored", undefined],
      ["errored", undefined],
    ]);
  });
});

describe('a crawl with "extract": "main"', () => {
  const body = `<nav>${links("/next")}Menu</nav><article>${`<p>${"The bridge was built by hand. ".repeat(12)}</p>`.repeat(4)}</article>`;
  const site = {
    [`${root}/`]: `<html><head><title>Bridge</title></head><body>${body}</body></html>`,
    [`${root}/next`]: `${"<div>".repeat(101)}${links("/last")}`,
    [`${root}/last`]: "<p>x",
  };

  it("keeps the main content of each page, and follows the links of the whole", async () => {
    const { crawl } = await crawlUnderTest(site, { extract: mainContent });
    const asked = { url: root, source: "links", formats: ["html", "markdown"], extract: "main" };
    const { records } = await crawl(asked);
    const [first, second, third] = records;
    expect(first).toMatchObject({ status: "completed", metadata: { title: "Bridge" } });
    for (const text of [first?.html, first?.markdown]) {
      expect(text).toContain("The bridge was built by hand.");
      expect(text).not.toContain("Menu");
    }
    expect(second).toMatchObject({
      status: "errored",
      error: expect.stringContaining("extract: The page has elements more than 100 deep"),
    });
    expect(third).toMatchObject({ url: `${root}/last`, status: "completed" });
  });

  it("is refused where nothing finds main content", async () => {
    const { call } = await crawlUnderTest(site);
    const { status, errors } = await call("POST", "", {
      url: root,
      render: false,
      extract: "main",
    });
    expect([status, errors[0]?.message]).toEqual([
      503,
      expect.stringContaining("extract: This server finds no main content"),
    ]);
  });
});
