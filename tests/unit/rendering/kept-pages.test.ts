import { describe, expect, it } from "vitest";
import { allowNone } from "../../../core/net/allow-hosts.ts";
import type { Wire } from "../../../core/ports.ts";
import type { RenderBody } from "../../../core/rendering/input/body.ts";
import { jobWith, type Job } from "../../../core/rendering/job/job.ts";
import { patternCompiler } from "../../../core/rendering/job/patterns.ts";
import { keptPages } from "../../../core/rendering/page/kept-pages.ts";
import type { Page } from "../../../core/rendering/page/page.ts";
import { noPagesAhead } from "../../../core/rendering/page/pages-ahead.ts";
import { isPlainDocument } from "../../../core/rendering/page/plain-document.ts";
import { withPage, type PageDeps } from "../../../core/rendering/page/with-page.ts";
import { fakeClock, settled, type FakeClock } from "../../fakes/rendering-system.ts";
import { fakeWire, openingBrowser, type FakeWire } from "../../fakes/rendering-wire.ts";

const forever = new AbortController().signal;
const jobOf = (body: RenderBody, requester: string | null): Job => ({
  ...jobWith(patternCompiler, body, { allow: allowNone, caps: {}, unsafeRegex: false }),
  requester,
});

interface Ask {
  readonly owner?: string | null;
  readonly body?: RenderBody;
  readonly signal?: AbortSignal;
  readonly use?: (page: Page, wire: FakeWire) => Promise<void>;
}

interface Setting {
  readonly clock: FakeClock;
  readonly wires: FakeWire[];
  /** Shows one document and gives the numbers of the connections that it had. */
  readonly show: (ask?: Ask) => Promise<number[]>;
}

/** A browser whose pages are opened at once; those of which `hangs` is true answer nothing any more. */
function setting(count: number, hangs: (n: number) => boolean = () => false): Setting {
  const clock = fakeClock();
  const wires: FakeWire[] = [];
  const connect = (): Promise<Wire> => {
    const n = wires.length;
    const fake = fakeWire((call, say) => (hangs(n) ? undefined : openingBrowser(call, say)));
    wires.push(fake);
    return Promise.resolve(fake.wire);
  };
  const session = {
    browser: { connect, close: () => Promise.resolve() },
    system: clock.system,
    guarded: true,
    requestMs: 60_000,
  };
  const deps: PageDeps = { ...session, ahead: noPagesAhead, kept: keptPages(count, session) };
  const show = async ({ owner = "me", body, signal, use }: Ask = {}): Promise<number[]> => {
    const used: number[] = [];
    const job = jobOf(body ?? { html: "<h1>Bill" }, owner);
    await withPage(deps, job, signal ?? forever, async (page) => {
      await page.call("Page.printToPDF");
      const n = wires.findLastIndex(({ calls }) => calls.at(-1)?.method === "Page.printToPDF");
      used.push(n);
      const wire = wires[n];
      if (wire !== undefined) await use?.(page, wire);
    });
    await settled();
    return used;
  };
  return { clock, wires, show };
}

const asks = (wire: FakeWire, url = "http://example.com/x.png"): void =>
  wire.say({
    method: "Fetch.requestPaused",
    params: { requestId: "R", request: { url, headers: {} }, frameId: "T", resourceType: "Image" },
    sessionId: "S",
  });

describe("keptPages()", () => {
  it("shows plain documents of one owner in one page", async () => {
    const { wires, show } = setting(2);
    expect([await show(), await show(), await show()]).toEqual([[0], [0], [0]]);
    expect(wires[0]?.closed).toBe(false);
  });

  it("names no file of the document before", async () => {
    const { show } = setting(1);
    const failed: number[] = [];
    const use = (page: Page): Promise<void> => {
      failed.push(page.files.failed.length);
      page.files.noteRefused({ url: "https://example.com/a.png", type: "image" }, "why");
      return Promise.resolve();
    };
    await show({ use });
    await show({ use });
    expect(failed).toEqual([0, 0]);
  });

  it("shares no page between owners, nor among those whom nothing tells apart", async () => {
    const { show } = setting(4);
    const used = [
      await show(),
      await show({ owner: "other" }),
      await show({ owner: null }),
      await show({ owner: null }),
    ];
    expect(new Set(used.flat()).size).toBe(4);
  });

  it.each<[string, RenderBody]>([
    ["a url", { url: "http://example.com/" }],
    ["a script", { html: "<script>1</script>" }],
    ["a picture", { html: "<img src=a.png>" }],
    ["a cookie", { html: "a", cookies: [{ name: "a", value: "b", domain: "example.com" }] }],
    ["a user agent", { html: "a", userAgent: "mine" }],
    ["a script of the caller", { html: "a", addScriptTag: [{ content: "1" }] }],
    ["actions", { html: "a", actions: [{ type: "press", key: "Enter" }] }],
    ["a touch screen", { html: "a", viewport: { width: 9, height: 9, hasTouch: true } }],
  ])("gives %s a page of its own", async (_, body) => {
    const { wires, show } = setting(2);
    await show();
    expect(await show({ body })).toEqual([1]);
    expect(wires[1]?.closed).toBe(true);
    expect(await show()).toEqual([0]);
  });

  it("sets window, media and background anew where they differ, and turns scripts off once", async () => {
    const { wires, show } = setting(1);
    const other = { html: "a", viewport: { width: 9, height: 9 }, emulateMediaType: "print" };
    await show({ body: other });
    const told = async (ask: Ask): Promise<unknown> => {
      const before = wires[0]?.calls.length ?? 0;
      await show(ask);
      const calls = wires[0]?.calls.slice(before) ?? [];
      return calls
        .filter(({ method }) => method.startsWith("Emulation."))
        .map(({ method, params }) => [method.replace(/.*\.set/u, ""), params]);
    };
    const usual = [
      ["DeviceMetricsOverride", expect.objectContaining({ width: 1920, height: 1080 })],
      ["EmulatedMedia", { media: "" }],
      ["DefaultBackgroundColorOverride", {}],
    ];
    expect(await told({})).toEqual([["ScriptExecutionDisabled", { value: true }], ...usual]);
    expect(await told({})).toEqual([]);
    const paints = (page: Page): Promise<void> =>
      page
        .call("Emulation.setDefaultBackgroundColorOverride", { color: { a: 0 } })
        .then(() => undefined);
    await show({ use: paints });
    expect(await told({})).toEqual(usual);
  });

  it("asks whether the browser still answers after a page has waited", async () => {
    const { clock, wires, show } = setting(1);
    await show();
    const asked = (): number =>
      wires[0]?.calls.filter(({ method }) => method === "Browser.getVersion").length ?? 0;
    await show();
    expect(asked()).toBe(1);
    await clock.advance(1000);
    await show();
    expect(asked()).toBe(2);
  });

  it("refuses what a plain document asks for, and shows it once more in a page of its own", async () => {
    const { wires, show } = setting(2);
    await show();
    const used = await show({
      use: (_, wire) => {
        if (wire === wires[0]) asks(wire);
        return Promise.resolve();
      },
    });
    expect(used).toEqual([0, 1]);
    expect(wires[0]?.calls.find(({ method }) => method.startsWith("Fetch.fail"))).toMatchObject({
      params: { requestId: "R", errorReason: "BlockedByClient" },
    });
    expect(wires[0]?.closed).toBe(true);
  });

  it("keeps no page that has asked for something, opened a window or a dialog, or failed", async () => {
    for (const message of [
      { method: "Page.javascriptDialogOpening", params: { type: "alert" }, sessionId: "S" },
      { method: "Page.downloadWillBegin", params: { frameId: "T", url: "x" }, sessionId: "S" },
      {
        method: "Target.attachedToTarget",
        params: {
          sessionId: "S2",
          targetInfo: { targetId: "T2", type: "page", browserContextId: "C" },
        },
      },
    ]) {
      const { wires, show } = setting(1);
      await show({ use: (_, wire) => Promise.resolve(wire.say(message)) });
      expect(wires[0]?.closed).toBe(true);
    }
    const { wires, show } = setting(1);
    await show();
    const failing = show({ use: () => Promise.reject(new Error("no")) });
    await expect(failing).rejects.toThrow("no");
    await settled();
    expect(wires[0]?.closed).toBe(true);
  });

  it("outlives the request that used it, and ends with one that goes away meanwhile", async () => {
    const { wires, show } = setting(1);
    const first = new AbortController();
    await show({ signal: first.signal });
    first.abort(new Error("late"));
    expect(await show()).toEqual([0]);
    const second = new AbortController();
    const gone = show({
      signal: second.signal,
      use: () => {
        second.abort(new Error("gone"));
        return new Promise(() => undefined);
      },
    });
    await expect(gone).rejects.toThrow("gone");
    await settled();
    expect(wires[0]?.closed).toBe(true);
  });

  it("keeps so many at most, and not for ever", async () => {
    const { clock, wires, show } = setting(2);
    for (const owner of ["a", "b", "c"]) await show({ owner });
    expect(wires.map(({ closed }) => closed)).toEqual([true, false, false]);
    await clock.advance(30_000);
    expect(wires.map(({ closed }) => closed)).toEqual([true, true, true]);
  });

  it("throws a page away after fifty documents", async () => {
    const { wires, show } = setting(1);
    for (let n = 0; n < 50; n++) await show();
    expect(wires.map(({ closed }) => closed)).toEqual([true]);
    expect(await show()).toEqual([1]);
  });

  it("replaces a page that hangs, has done something while it waited, or has died", async () => {
    let isHanging = false;
    const { clock, wires, show } = setting(1, (n) => isHanging && n === 0);
    await show();
    isHanging = true;
    await clock.advance(1000);
    const waiting = show();
    await settled();
    await clock.advance(10_000);
    expect(await waiting).toEqual([1]);
    expect(wires[0]?.killed).toBe(true);
    wires[1]?.end("crashed");
    await settled();
    expect(await show()).toEqual([2]);
    for (const wire of wires.slice(2)) asks(wire);
    expect(await show()).toEqual([3]);
    expect(wires[2]?.closed).toBe(true);
  });

  it("keeps none where none are wanted", async () => {
    const { show } = setting(0);
    expect([await show(), await show()]).toEqual([[0], [1]]);
  });
});

describe("isPlainDocument()", () => {
  it.each([
    "",
    "text",
    "<!doctype html><html lang=en><head><meta charset=utf-8><title>Bill</title><style>@page { size: a4 } td { color: rgb(1, 2, 3) }</style>",
    '<h1 class="a">Bill</h1><p style="color: red">a <a href="https://example.com/">b</a></p><table><tr><td>c</table>',
    "<p title='onclick=x'>a < b",
    "<p style='overflow: scroll'>",
    "<meta name=viewport content='width=device-width'><meta name=DESCRIPTION content=x><meta property=og:title content=x>",
  ])("is true for %s", (html) => {
    expect(isPlainDocument(html)).toBe(true);
  });

  it.each([
    "<script>",
    "<SCRIPT src=x>",
    // To a browser it is a comment that ends at once.
    "<![CDATA[><script>f()</script>]]>",
    "<![CDATA[<b><script>f()</script>",
    "</style <p a='/><p a='<style><script>f()</script>",
    "<?x ?><p>a",
    // Deeper than the converter to Markdown looks.
    `${"<div>".repeat(600)}<script>f()</script>`,
    "<body onload=f()>",
    "<p/onclick=f()>",
    '<p title=">" onclick=f()>',
    "<svg><script>",
    "<img src=x>",
    "<body background=x>",
    "<link rel=stylesheet href=x>",
    "<base href=x>",
    "<meta http-equiv=refresh content=0>",
    "<meta name=color-scheme content=dark>",
    "<META NAME=' color-scheme' CONTENT=dark>",
    "<meta name=referrer content=unsafe-url>",
    "<meta name=theme-color content=red>",
    "<style title=a>p { color: red }</style>",
    "<body link=red>",
    "<body alink=red vlink=red text=red>",
    "<p tabindex=0 autofocus>",
    "<iframe srcdoc=x>",
    "<object data=x>",
    "<noscript>a</noscript>",
    "<template shadowrootmode=open>",
    "<x-y>",
    "<p style='background: url(x)'>",
    "<style>@import 'x'</style>",
    String.raw`<style>p { background: u\72l(x) }</style>`,
    "<style>@media (scripting: none) { p { color: red } }</style>",
    "<style>html { SCROLL-snap-type: y mandatory } p { scroll-snap-align: end }</style>",
    "<p style='scroll-initial-target: nearest'>",
    `<style>${" ".repeat(16_380)}url(x)`,
    "a".repeat(200_000),
  ])("is false for %s", (html) => {
    expect(isPlainDocument(html)).toBe(false);
  });
});
