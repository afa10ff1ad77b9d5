import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { allowNone } from "../../../core/net/allow-hosts.ts";
import { networkFailure, proxyFailure } from "../../../core/rendering/input/errors.ts";
import { prepareJob } from "../../../core/rendering/job/job.ts";
import { printParameters } from "../../../core/rendering/actions/pdf-options.ts";
import { documentSchema } from "../../../core/rendering/job/schema.ts";
import { readTimers } from "../../../core/rendering/input/timers.ts";

describe("addScriptTag and addStyleTag", () => {
  const isTaken = (field: string, tag: object): boolean =>
    v.safeParse(documentSchema, { html: "<p>", [field]: [tag] }).success;

  it.each(["addScriptTag", "addStyleTag"])("%s takes either content or url", (field) => {
    expect(isTaken(field, { content: "" })).toBe(true);
    expect(isTaken(field, { url: "https://example.com/x" })).toBe(true);
    expect(isTaken(field, {})).toBe(false);
    expect(isTaken(field, { type: "module" })).toBe(false);
    expect(isTaken(field, { content: "a", url: "https://example.com/x" })).toBe(false);
  });
});

describe("printParameters()", () => {
  it("has Puppeteer's defaults", () => {
    expect(printParameters({})).toMatchObject({
      paperWidth: 8.5,
      paperHeight: 11,
      scale: 1,
      marginTop: 0,
      printBackground: false,
      landscape: false,
      generateTaggedPDF: true,
      generateDocumentOutline: false,
      pageRanges: "",
    });
  });

  it("converts lengths as Puppeteer does", () => {
    const { paperWidth, paperHeight, marginLeft, marginTop } = printParameters({
      width: "21cm",
      height: 960,
      margin: { left: "10mm", top: "96" },
    }) as Record<string, number>;
    expect(paperWidth).toBeCloseTo((21 * 37.8) / 96, 10);
    expect(paperHeight).toBe(10);
    expect(marginLeft).toBeCloseTo(37.8 / 96, 10);
    expect(marginTop).toBe(1);
  });

  it("prefers the format, in any case, and tags a document that has an outline", () => {
    expect(
      printParameters({ format: "A4", width: 100, outline: true, tagged: false }),
    ).toMatchObject({
      paperWidth: 8.2677,
      paperHeight: 11.6929,
      generateTaggedPDF: true,
      generateDocumentOutline: true,
    });
  });

  it.each([
    [{ scale: 0.05 }, "scale"],
    [{ scale: 3 }, "scale"],
    [{ width: 0 }, "width"],
    [{ height: "100000in" }, "height"],
    [{ width: "wide" }, "width"],
    [{ margin: { left: "8in", right: "1in" } }, "content area"],
    [{ landscape: true, margin: { top: "5in", bottom: "4in" } }, "content area"],
    [{ format: "a7" }, "format"],
    [{ format: "constructor" }, "format"],
    [{ pageRanges: "5-1" }, "pageRanges"],
    [{ pageRanges: "1,,2" }, "pageRanges"],
    [{ pageRanges: "a" }, "pageRanges"],
    [{ pageRanges: "0" }, "pageRanges"],
  ])("refuses %j", (options, text) => expect(() => printParameters(options)).toThrow(text));

  it.each([
    ["1-5, 8, 11-13", "1-5,8,11-13"],
    [" ", ""],
    ["2-", "2-"],
    ["-3", "-3"],
  ])("reads the ranges %j", (text, ranges) => {
    expect(printParameters({ pageRanges: text })["pageRanges"]).toBe(ranges);
  });
});

describe("readTimers()", () => {
  it("has defaults, takes both spellings, and reads 0 as the cap", () => {
    expect(readTimers({})).toEqual({
      goto: 30_000,
      selector: 30_000,
      function: 30_000,
      wait: 0,
      eachAction: [],
      actions: 60_000,
      action: 30_000,
    });
    const actions = [
      { type: "click", selector: "a", timeout: 7 },
      { type: "press", key: "Tab" },
    ] as const;
    expect(readTimers({ actions }, { selector: 50, wait: 60 })).toMatchObject({
      eachAction: [7, 50],
      actions: 60,
    });
    expect(readTimers({ goToOptions: { timeout: 5 } }).goto).toBe(5);
    expect(readTimers({ gotoOptions: { timeout: 6 }, goToOptions: { timeout: 5 } }).goto).toBe(6);
    expect(readTimers({ gotoOptions: { timeout: 0 } }).goto).toBe(60_000);
    expect(readTimers({ pdfOptions: { timeout: 7 } }).action).toBe(7);
    expect(readTimers({ pdfOptions: { timeout: 7 }, actionTimeout: 8 }).action).toBe(8);
  });

  it("refuses a value above its cap by name and cap", () => {
    expect(() => readTimers({ gotoOptions: { timeout: 60_001 } })).toThrow(
      "gotoOptions.timeout: 60001 ms is above the maximum of 60000 ms",
    );
    expect(() => readTimers({ waitForTimeout: 60_001 })).toThrow("waitForTimeout");
    expect(() => readTimers({ actionTimeout: 300_001 })).toThrow("actionTimeout");
    expect(readTimers({ gotoOptions: { timeout: 90_000 } }, { goto: 120_000 }).goto).toBe(90_000);
  });
});

describe("prepareJob()", () => {
  const policy = { allow: allowNone, caps: {}, unsafeRegex: false };

  it("needs a source", () => expect(prepareJob({}, policy)).rejects.toThrow("One of url and html"));

  it("takes both sources and checks the base too", async () => {
    const { url } = await prepareJob({ html: "x", url: "http://example.com/a" }, policy);
    expect(url?.href).toBe("http://example.com/a");
    await expect(prepareJob({ html: "x", url: "file:///etc/passwd" }, policy)).rejects.toThrow(
      "not allowed",
    );
  });

  it("checks the addresses of tags", async () => {
    await expect(
      prepareJob({ html: "x", addScriptTag: [{ url: "http://127.0.0.1/x.js" }] }, policy),
    ).rejects.toThrow("not a public address");
  });

  it.each(["allowRequestPattern", "rejectRequestPattern"])("compiles %s", async (field) => {
    const { rules } = await prepareJob({ html: "x", [field]: ["a{2}$", "b"] }, policy);
    const [first, second, ...more] = [...rules.allowPatterns, ...rules.rejectPatterns];
    expect([first?.("xaa"), first?.("xa"), second?.("ab"), more]).toEqual([true, false, true, []]);
    await expect(prepareJob({ html: "x", [field]: ["("] }, policy)).rejects.toThrow(field);
  });

  it.each(["Host", "content-length", "Transfer-Encoding", "connection", "bad name", "x:y", ""])(
    "refuses the header %j",
    async (name) => {
      await expect(
        prepareJob({ html: "x", setExtraHTTPHeaders: { [name]: "v" } }, policy),
      ).rejects.toThrow("setExtraHTTPHeaders");
    },
  );

  it("refuses header values with line breaks", async () => {
    await expect(
      prepareJob({ html: "x", setExtraHTTPHeaders: { "x-a": "b\r\nc: d" } }, policy),
    ).rejects.toThrow("not a header value");
  });
});

describe("networkFailure()", () => {
  it.each([
    ["net::ERR_CERT_AUTHORITY_INVALID", 5000],
    ["net::ERR_ADDRESS_UNREACHABLE", 5001],
    ["net::ERR_ABORTED", 5002],
    ["net::ERR_CONNECTION_TIMED_OUT", 5002],
    ["net::ERR_TIMED_OUT", 5002],
    ["net::ERR_TOO_MANY_REDIRECTS", 5003],
    ["net::ERR_HTTP2_PROTOCOL_ERROR", 5004],
    ["net::ERR_NAME_NOT_RESOLVED", 5005],
    ["net::ERR_DNS_TIMED_OUT", 5005],
    ["net::ERR_CONNECTION_CLOSED", 5006],
    ["net::ERR_TUNNEL_CONNECTION_FAILED", 5006],
    ["net::ERR_HTTP_RESPONSE_CODE_FAILURE", 5007],
    ["net::ERR_CONNECTION_REFUSED", 5008],
    ["net::ERR_SOMETHING_NEW", 5009],
    ["net::ERR_BLOCKED_BY_CLIENT", 5010],
    ["net::ERR_INVALID_URL", 5010],
    ["net::ERR_EMPTY_RESPONSE", 5011],
  ])("reports %s as %i", (text, code) => {
    const failure = networkFailure(text);
    expect([failure.code, failure.status]).toEqual([code, code === 5010 ? 400 : 422]);
  });
});

describe("proxyFailure()", () => {
  it("reads what the egress proxy says and nobody else's word", () => {
    expect(proxyFailure("causey; error=destination_ip_prohibited")?.code).toBe(5010);
    expect(proxyFailure("causey; error=dns_error")?.code).toBe(5005);
    expect(proxyFailure("causey; error=connection_refused")?.code).toBe(5008);
    expect(proxyFailure("other; error=dns_error")).toBeNull();
    expect(proxyFailure("")).toBeNull();
  });
});
