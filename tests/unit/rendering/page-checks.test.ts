import { describe, expect, it } from "vitest";
import { utf8 } from "../../../core/crypto/encoding.ts";
import type { RenderBody } from "../../../core/rendering/input/body.ts";
import { noteConsoleError } from "../../../core/rendering/page/console-errors.ts";
import { checkShown, checkStatus } from "../../../core/rendering/page/page-checks.ts";
import type { Page } from "../../../core/rendering/page/page.ts";
import { staticMarkdown } from "../../../core/rendering/static/static-markdown.ts";
import { runThrough } from "../../../core/work/background.ts";

const failure = (work: () => void): unknown => {
  try {
    work();
    return null;
  } catch (error) {
    return error;
  }
};
const fails = (message: string): object =>
  expect.objectContaining({
    kind: "page_check_failed",
    message: expect.stringContaining(message),
  });

describe("a check of a page", () => {
  it("of its status takes a list, or every failure", () => {
    const check = (failOnHttpStatus: RenderBody["failOnHttpStatus"], status?: number): unknown =>
      failure(() => checkStatus({ failOnHttpStatus }, status));
    expect(check(true, 400)).toEqual(fails("failOnHttpStatus: The site answered status 400"));
    expect(check([204, 301], 301)).toEqual(fails("status 301"));
    for (const [wanted, status] of [
      [true, 399],
      [true, undefined],
      [[404], 410],
      [[], 500],
      [false, 500],
      [undefined, 500],
    ] as const)
      expect(check(wanted, status)).toBeNull();
  });

  it("of its scripts and files looks where the body says so", () => {
    const file = {
      url: "https://example.com/a.png",
      type: "image",
      reason: "status",
      detail: "404",
    };
    const page = { consoleErrors: ["TypeError: x"], files: { failed: [file] } } as unknown as Page;
    const check = (body: RenderBody, shown = page): unknown =>
      failure(() => checkShown(body, shown));
    expect(check({})).toBeNull();
    expect(check({ failOnConsoleError: true })).toEqual(fails("failOnConsoleError: TypeError: x"));
    const missing =
      "failOnResource: A file is missing: image https://example.com/a.png (status, 404)";
    expect(check({ failOnResource: true })).toEqual(fails(missing));
    const whole = { consoleErrors: [], files: { failed: [] } } as unknown as Page;
    expect(check({ failOnConsoleError: true, failOnResource: true }, whole)).toBeNull();
  });
});

describe("html without scripts", () => {
  const kindOf = async (body: RenderBody): Promise<string> => {
    const request = {
      bytes: utf8(JSON.stringify({ html: "<p>Text</p>", ...body })),
      allowHosts: [],
      caps: {},
      unsafeRegex: false,
      frontmatter: true,
      hasEngine: false,
    };
    return runThrough((await staticMarkdown.load())(request)).kind;
  };

  it("needs a browser where a field needs its layout or files", async () => {
    const shown: readonly RenderBody[] = [
      { hideCookieBanners: true },
      { removeOverlays: true },
      { failOnResource: true },
      { addStyleTag: [{ content: "p {}" }] },
      { emulateMediaType: "print" },
      { waitForSelector: { selector: "p" } },
    ];
    for (const body of shown) expect([body, await kindOf(body)]).toEqual([body, "browser"]);
    const none = { hideCookieBanners: false, failOnResource: false, addStyleTag: [], actions: [] };
    for (const body of [{}, none, { viewport: { width: 300, height: 300 } }])
      expect([body, await kindOf(body)]).toEqual([body, "converted"]);
  });
});

describe("the errors of a page's scripts", () => {
  const noted = (...events: (readonly [method: string, params: object])[]): string[] => {
    const errors: string[] = [];
    for (const [method, params] of events)
      noteConsoleError(errors, { method, params: { ...params }, session: "s" });
    return errors;
  };

  it("are what they throw, and what they write as errors", () => {
    const thrown = { exceptionDetails: { exception: { description: "Error: a\n    at b" } } };
    const args = [{ value: "it is" }, { description: "Array(2)" }, { value: 7 }];
    expect(
      noted(
        ["Runtime.exceptionThrown", thrown],
        ["Runtime.exceptionThrown", { exceptionDetails: { text: "Uncaught 7" } }],
        ["Runtime.consoleAPICalled", { type: "error", args }],
        ["Runtime.consoleAPICalled", { type: "assert", args: [{ value: "no" }] }],
        ["Runtime.consoleAPICalled", { type: "warning", args }],
        ["Network.loadingFailed", {}],
      ),
    ).toEqual(["Error: a", "Uncaught 7", "it is Array(2) 7", "no"]);
  });

  it("are kept up to a bound", () => {
    const one = ["Runtime.consoleAPICalled", { type: "error", args: [{ value: "x" }] }] as const;
    expect(noted(...Array.from({ length: 50 }, () => one))).toHaveLength(10);
  });
});
