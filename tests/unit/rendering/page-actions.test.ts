import { describe, expect, it } from "vitest";
import { allowNone } from "../../../core/net/allow-hosts.ts";
import type { RenderBody } from "../../../core/rendering/input/body.ts";
import { jobWith } from "../../../core/rendering/job/job.ts";
import { patternCompiler } from "../../../core/rendering/job/patterns.ts";
import { CdpError, type CdpData } from "../../../core/rendering/cdp/cdp.ts";
import { loadPage } from "../../../core/rendering/page/load.ts";
import type { Page } from "../../../core/rendering/page/page.ts";
import { fakePlatform } from "../../fakes/auth-platform.ts";

/** A page that is loaded; `place` is where every selector's match is, `truths` what expressions give one after the other. */
function setting(
  place: unknown,
  truths: (CdpData | CdpError)[] = [],
  values: unknown[] | null = null,
) {
  const calls: (readonly [string, CdpData])[] = [];
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms);
      signal?.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    });
  const answers: Record<string, () => CdpData> = {
    "Page.createIsolatedWorld": () => ({ executionContextId: 1 }),
    "Runtime.callFunctionOn": () => ({ result: { value: values?.shift() ?? place } }),
    "Runtime.evaluate": () => {
      const next = truths.shift() ?? { result: { type: "undefined" } };
      if (next instanceof Error) throw next;
      return next;
    },
  };
  const page = {
    call: (method: string, params: CdpData = {}) => {
      calls.push([method, params]);
      return Promise.resolve().then(() => answers[method]?.() ?? {});
    },
    frame: "F",
    world: { context: null },
    density: 1,
    hasScripts: values === null,
    system: { ...fakePlatform({ now: 0 }).system, sleep },
    lifecycle: {
      reached: () => Promise.resolve(),
      restart() {},
      isCut: false,
      see() {},
      leaves() {},
    },
    network: { see() {}, quiet: () => Promise.resolve() },
    files: {
      see() {},
      failed: [],
      failedTotal: 0,
      isWaiting: false,
      changes: 0,
      arrived: () => Promise.resolve(),
      noteLate() {},
      noteUnreadable() {},
      noteRefused() {},
      restart() {},
    },
    missingFonts: [],
    filesMs: 0,
    isPlain: false,
    load: () => ({ redirects: [], response: null }),
    lastResponse: () => null,
    navigating() {},
    consoleErrors: [],
    refused: [],
  } satisfies Page;
  const load = (body: RenderBody) =>
    loadPage(
      page,
      jobWith(
        patternCompiler,
        { html: "<p>", ...body },
        { allow: allowNone, caps: {}, unsafeRegex: false },
      ),
      new AbortController().signal,
    );
  const input = () => calls.filter(([method]) => method.startsWith("Input."));
  const functions = () =>
    calls.filter(([method]) => method === "Runtime.callFunctionOn").map(([, params]) => params);
  return { load, input, functions };
}

it("a style sheet is waited for where scripts are off, and a script is not", async () => {
  const { load, functions } = setting(true, [], [true, false, false]);
  const url = "https://example.com/a";
  await load({ addStyleTag: [{ url }], addScriptTag: [{ url }] });
  const args = functions().map(({ arguments: given }) => given);
  const tag = (kind: string): object[] => [{ value: kind }, { value: { url } }, { value: false }];
  // Added, looked at three times, and the script added.
  expect(args).toEqual([tag("style"), [], [], [], tag("script")]);
});

describe("actions before the capture", () => {
  it("are real input, in their order", async () => {
    const { load, input } = setting({ x: 5, y: 6 });
    await load({
      actions: [
        { type: "write", selector: "#a", text: "höllo" },
        { type: "press", key: "Enter" },
        { type: "press", key: "Space" },
        { type: "press", key: "ArrowUp" },
      ],
    });
    const mouse = "Input.dispatchMouseEvent";
    const key = "Input.dispatchKeyEvent";
    expect(input()).toMatchObject([
      [mouse, { type: "mouseMoved", x: 5, y: 6 }],
      [mouse, { type: "mousePressed", x: 5, y: 6, button: "left", clickCount: 1 }],
      [mouse, { type: "mouseReleased" }],
      ["Input.insertText", { text: "höllo" }],
      [key, { type: "keyDown", key: "Enter", code: "Enter", text: "\r" }],
      [key, { type: "keyUp", key: "Enter" }],
      [key, { type: "keyDown", key: " ", code: "Space", text: " " }],
      [key, { type: "keyUp", key: " " }],
      [key, { type: "rawKeyDown", key: "ArrowUp", windowsVirtualKeyCode: 38 }],
      [key, { type: "keyUp" }],
    ]);
  });

  it("end by their own deadline, by name; those after them are not done", async () => {
    const { load, input } = setting(null);
    const actions = [
      { type: "press", key: "Tab" },
      { type: "click", selector: "#never", timeout: 120 },
      { type: "press", key: "Tab" },
    ] as const;
    await expect(load({ actions })).rejects.toMatchObject({
      kind: "render_timeout",
      message: "Timeout of 120 ms exceeded: actions.1",
    });
    expect(input()).toHaveLength(2);
    await expect(load({ actions, bestAttempt: true })).resolves.toEqual({
      missed: null,
      partial: "Timeout of 120 ms exceeded: actions.1",
    });
  });
});

describe("waitForFunction", () => {
  const value = (result: CdpData): CdpData => ({ result });
  const thrown = (className: string, stack = ""): CdpData => ({
    result: { type: "object" },
    exceptionDetails: { exception: { className, description: `${className}: why${stack}` } },
  });

  it.each<[string, CdpData]>([
    ["an object", { type: "object", objectId: "1" }],
    ["a text", { type: "string", value: "a" }],
    ["a number without a value", { type: "number", unserializableValue: "Infinity" }],
  ])("ends with %s, after what is not true and what throws", async (_, last) => {
    const truths = [
      value({ type: "object", subtype: "null", value: null }),
      value({ type: "number", unserializableValue: "NaN" }),
      value({ type: "string", value: "" }),
      thrown("ReferenceError"),
      thrown("SyntaxError", "\n    at JSON.parse (<anonymous>)"),
      value(last),
      value({ type: "undefined" }),
    ];
    await setting(null, truths).load({ waitForFunction: { expression: "x" } });
    expect(truths).toHaveLength(1);
  });

  it("goes on after a run that held the page up for too long, and fails with what else is wrong", async () => {
    const ended = new CdpError("Runtime.evaluate", "Internal error");
    const broken = new CdpError("Runtime.evaluate", "Something else");
    const truths = [ended, value({ type: "boolean", value: true })];
    await setting(null, truths).load({ waitForFunction: { expression: "x" } });
    expect(truths).toEqual([]);
    await expect(
      setting(null, [broken]).load({ waitForFunction: { expression: "x" } }),
    ).rejects.toBe(broken);
  });

  it("refuses what is no expression, and ends in time", async () => {
    const { load } = setting(null, [thrown("SyntaxError")]);
    await expect(load({ waitForFunction: { expression: "a b" } })).rejects.toMatchObject({
      kind: "invalid_request",
      message: "waitForFunction.expression: SyntaxError: why",
    });
    await expect(
      setting(null).load({ waitForFunction: { expression: "x", timeout: 60 } }),
    ).rejects.toMatchObject({ message: 'Timeout of 60 ms exceeded: waitForFunction "x"' });
  });
});
