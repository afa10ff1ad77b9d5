import { RE2Set } from "re2js";
import { describe, expect, it, vi } from "vitest";
import { allowNone } from "../../../core/net/allow-hosts.ts";
import {
  compilePattern,
  compilePatterns,
  parseLiteral,
  patternCompiler,
} from "../../../core/rendering/job/patterns.ts";
import {
  decideSteps,
  type GateDecision,
  type PageRequest,
  type RequestRules,
} from "../../../core/rendering/job/request-gate.ts";
import { runThrough } from "../../../core/work/background.ts";

const field = "rejectRequestPattern";
const matches = (pattern: string, url: string): boolean => compilePattern(pattern, { field })(url);

describe("parseLiteral()", () => {
  it.each([
    ["/^.*\\.(css)", "^.*\\.(css)", ""],
    ["/^.*\\.(css)/", "^.*\\.(css)", ""],
    ["/^.*\\.(css)/i", "^.*\\.(css)", "i"],
    ["^.*\\.css$", "^.*\\.css$", ""],
    ["/api/v1", "api/v1", ""],
    ["/a\\/", "a\\/", ""],
    ["/", "", ""],
  ])("reads %j", (pattern, body, flags) => expect(parseLiteral(pattern)).toEqual({ body, flags }));
});

describe("compilePattern()", () => {
  const css = "https://example.com/a/style.css";
  it.each([
    ["/^.*\\.(css)", css, true],
    ["/^.*\\.(css)/", css, true],
    ["/\\.CSS$/", css, false],
    ["/\\.CSS$/i", css, true],
    ["\\.css$", css, true],
    ["\\.css$", `${css}?v=1`, false],
    ["^https://example", css, true],
    ["^example", css, false],
    ["example\\.com", css, true],
    ["example.com", "https://exampleXcom/", true],
    ["\\.(png|jpe?g|css)(\\?|$)", `${css}?x`, true],
    ["^https?://[^/]+/a/", css, true],
    ["(?<year>\\d{4})", "https://x/2026/", true],
    ["\\bads?\\b", "https://x/ad/1", true],
    ["\\bads?\\b", "https://x/bad/1", false],
  ])("%j against %j is %j", (pattern, url, expected) =>
    expect(matches(pattern, url)).toBe(expected),
  );

  it("refuses patterns that repeat too much, one or many together", () => {
    const refused = (patterns: readonly string[]): unknown => {
      try {
        compilePatterns(patterns, { field });
        return null;
      } catch (error) {
        return error;
      }
    };
    const tooMuch = { kind: "invalid_request", message: expect.stringContaining("repeats too") };
    expect(refused(["[ab]{999}".repeat(110)])).toMatchObject(tooMuch);
    expect(refused([`(?:${"[ab]".repeat(240)}){1000}`])).toMatchObject(tooMuch);
    expect(refused(Array.from({ length: 100 }, () => "[ab]{99}"))).toMatchObject(tooMuch);
    expect(refused(Array.from({ length: 100 }, () => "[ab]*a".repeat(90)))).toMatchObject(tooMuch);
    const nested = `(?:(?:(?:${"ab".repeat(290)}){10}){10}){10}`;
    // Writing them out takes the time that the bound is for.
    const compile = vi.spyOn(RE2Set.prototype, "add");
    expect(refused([nested])).toMatchObject(tooMuch);
    expect(refused([nested.replace("(?:", "(?:[(]")])).toMatchObject(tooMuch);
    expect(refused([`a{40}${"\\Q\\E{40}".repeat(2)}`])).toMatchObject(tooMuch);
    expect(compile).not.toHaveBeenCalled();
    compile.mockRestore();
    const tooManySteps = { message: expect.stringMatching(/takes \d+ steps a character/u) };
    expect(refused(["(?:a?b?c?){300}[!-#]"])).toMatchObject(tooManySteps);
    expect(refused(["(?:[a-z](?:[a-z-]{0,61}[a-z])?\\.){1,8}[a-z]{2,63}"])).toBeNull();
    const uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
    const usual = ["\\.(png|jpe?g|css)(\\?|$)", "^https?://[^/]+/ads?/", "(.*a){10}"];
    const host = "^https?://[^/]{1,253}/ads?/";
    expect(refused([uuid, host, ...Array.from({ length: 25 }, () => usual).flat()])).toBeNull();
  });

  it("bounds both lists of a caller together", () => {
    const list = ["(?:a?b?c?){200}[!-#]", "(?:a?b?c?){201}[!-#]"];
    const compile = patternCompiler();
    expect(compile(list, { field })).toHaveLength(2);
    expect(() => compile(list, { field: "allowRequestPattern" })).not.toThrow();
    expect(() => compile(list.slice(1), { field })).toThrow(/repeats too much, together/u);
  });

  it("is as fast on hostile patterns as on others", () => {
    const hostile = [
      "(a+)+$",
      "(a|a)*b",
      "^(([a-z])+.)+[A-Z]([a-z])+$",
      "(.*a){20}",
      "([a-zA-Z]+)*\\d$",
    ];
    const compiled = compilePatterns(hostile, { field });
    // Backtracking would take years for these; the test's own timeout is the measure.
    for (const matcher of compiled)
      expect(matcher(`http://x/${"a".repeat(5000)}!`)).toBeTypeOf("boolean");
  });

  it("looks at the first 8 KB of a URL", () => {
    expect(matches("b+c", `${"a".repeat(9000)}bc`)).toBe(false);
  });

  it.each(["(?=x)", "(?<!x)y", "(a)\\1", "[", "(", "*a"])("refuses %j", (pattern) => {
    expect(() => compilePattern(pattern, { field })).toThrow(/rejectRequestPattern: The pattern/u);
  });

  it("allows lookaround when the operator accepts its cost", () => {
    expect(compilePattern("/x(?=y)/", { field, unsafeRegex: true })("axy")).toBe(true);
  });

  it("bounds the number and the length of patterns", () => {
    expect(() =>
      compilePatterns(
        Array.from({ length: 101 }, () => "a"),
        { field },
      ),
    ).toThrow(/At most 100/u);
    expect(() => compilePattern("a".repeat(1001), { field })).toThrow(/at most 1000/u);
  });
});

describe("decideSteps()", () => {
  const decideRequest = (request: PageRequest, of: RequestRules): GateDecision =>
    runThrough(decideSteps(request, of));
  const rules = (more: Partial<RequestRules>): RequestRules => ({
    allow: allowNone,
    allowPatterns: [],
    rejectPatterns: [],
    allowTypes: [],
    rejectTypes: [],
    ...more,
  });
  const image = { url: "https://example.com/a.png", type: "image", main: false };
  const page = { url: "https://example.com/", type: "document", main: true };
  const png = compilePatterns(["\\.png$"], { field });

  it("rejects before it allows", () => {
    expect(decideRequest(image, rules({ allowPatterns: png, rejectPatterns: png }))).toBe(
      "blocked",
    );
    expect(decideRequest(image, rules({ allowTypes: ["image"], rejectTypes: ["image"] }))).toBe(
      "blocked",
    );
  });

  it("fails what an allow list does not name, except the page itself", () => {
    expect(decideRequest(image, rules({ allowTypes: ["script"] }))).toBe("blocked");
    expect(
      decideRequest(image, rules({ allowPatterns: compilePatterns(["\\.js$"], { field }) })),
    ).toBe("blocked");
    expect(decideRequest(page, rules({ allowTypes: ["script"] }))).toBe("continue");
    expect(decideRequest({ ...page, main: false }, rules({ allowTypes: ["script"] }))).toBe(
      "blocked",
    );
  });

  it("applies reject lists to the page itself", () => {
    expect(
      decideRequest(page, rules({ rejectPatterns: compilePatterns(["example"], { field }) })),
    ).toBe("blocked");
  });

  it("never lets an allow list open a private address", () => {
    const open = rules({
      allowPatterns: compilePatterns([".*"], { field }),
      allowTypes: ["image"],
    });
    expect(decideRequest({ ...image, url: "http://127.0.0.1/a.png" }, open)).toBe("forbidden");
    expect(decideRequest({ ...image, url: "file:///a.png" }, open)).toBe("forbidden");
  });

  it("passes inline data as a part of the page only", () => {
    expect(decideRequest({ ...image, url: "data:image/png;base64,x" }, rules({}))).toBe("continue");
    expect(decideRequest({ ...page, url: "data:text/html,x" }, rules({}))).toBe("forbidden");
  });
});
