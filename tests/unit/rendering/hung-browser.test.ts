import { describe, expect, it } from "vitest";
import { allowNone } from "../../../core/net/allow-hosts.ts";
import type { Wire } from "../../../core/ports.ts";
import { jobWith } from "../../../core/rendering/job/job.ts";
import { patternCompiler } from "../../../core/rendering/job/patterns.ts";
import { noKeptPages } from "../../../core/rendering/page/kept-pages.ts";
import { noPagesAhead } from "../../../core/rendering/page/pages-ahead.ts";
import { withPage } from "../../../core/rendering/page/with-page.ts";
import { fakeClock, settled, type FakeClock } from "../../fakes/rendering-system.ts";
import { fakeWire, openingBrowser, type FakeWire } from "../../fakes/rendering-wire.ts";

const forever = new AbortController().signal;
const job = jobWith(
  patternCompiler,
  { html: "x" },
  { allow: allowNone, caps: {}, unsafeRegex: false },
);

/** Answers everything but one method. */
const deafTo = (method: string): FakeWire =>
  fakeWire((call, say) => (call.method === method ? undefined : openingBrowser(call, say)));

const start = (
  clock: FakeClock,
  wires: readonly FakeWire[],
  options: { readonly signal?: AbortSignal; readonly use?: () => Promise<string> } = {},
): Promise<unknown> => {
  const left = [...wires];
  const browser = {
    connect: (): Promise<Wire> => {
      const next = left.shift();
      return next === undefined
        ? Promise.reject(new Error("no more browsers"))
        : Promise.resolve(next.wire);
    },
    close: () => Promise.resolve(),
  };
  const deps = {
    browser,
    system: clock.system,
    guarded: true,
    requestMs: 60_000,
    ahead: noPagesAhead,
    kept: noKeptPages,
  };
  const { signal = forever, use = () => Promise.resolve("done") } = options;
  return withPage(deps, job, signal, use).catch((error: unknown) => error);
};

describe("a browser that hangs", () => {
  for (const method of [
    "Target.createBrowserContext",
    "Target.setAutoAttach",
    "Target.createTarget",
    "Fetch.enable",
    "Emulation.setDeviceMetricsOverride",
  ])
    it(`at ${method} is killed, and the page opened on the next one`, async () => {
      const clock = fakeClock();
      const wires = [deafTo(method), fakeWire(openingBrowser)];
      const result = start(clock, wires);
      await settled();
      expect(wires.map(({ killed }) => killed)).toEqual([false, false]);
      await clock.advance(10_000);
      expect(await result).toBe("done");
      expect(wires.map(({ killed }) => killed)).toEqual([true, false]);
    });

  it("twice is told as 503 with Retry-After", async () => {
    const clock = fakeClock();
    const method = "Target.createTarget";
    const wires = [deafTo(method), deafTo(method), fakeWire(openingBrowser)];
    const result = start(clock, wires);
    await settled();
    await clock.advance(10_000);
    await clock.advance(10_000);
    expect(await result).toMatchObject({
      kind: "no_browser",
      options: { headers: { "retry-after": "1" } },
    });
    expect(wires.map(({ killed }) => killed)).toEqual([true, true, false]);
  });

  it("when the page is closed is killed, while nobody waits for it", async () => {
    const clock = fakeClock();
    const wire = deafTo("Target.disposeBrowserContext");
    expect(await start(clock, [wire])).toBe("done");
    expect([wire.closed, wire.killed]).toEqual([false, false]);
    await clock.advance(10_000);
    expect(wire.killed).toBe(true);
  });

  it("that dies before the page has begun is replaced, and after it is told as 503", async () => {
    const dying = fakeWire((call, say) => {
      if (call.method === "Target.createTarget") dying.end("crashed");
      return openingBrowser(call, say);
    });
    expect(await start(fakeClock(), [dying, fakeWire(openingBrowser)])).toBe("done");
    const late = fakeWire(openingBrowser);
    const use = (): Promise<string> => {
      late.end("crashed");
      return new Promise(() => undefined);
    };
    expect(await start(fakeClock(), [late, fakeWire(openingBrowser)], { use })).toMatchObject({
      kind: "no_browser",
      options: { headers: { "retry-after": "1" } },
    });
  });

  it("is not tried again for a client that left", async () => {
    const clock = fakeClock();
    const stop = new AbortController();
    const wires = [deafTo("Target.createTarget"), fakeWire(openingBrowser)];
    const result = start(clock, wires, { signal: stop.signal });
    await settled();
    stop.abort(new Error("left"));
    expect(await result).toMatchObject({ message: "left" });
    expect(wires[1]?.calls).toEqual([]);
  });
});

describe("a connection that does not come", () => {
  it("ends with 503, and is closed when it comes after all", async () => {
    const clock = fakeClock();
    const late = Promise.withResolvers<Wire>();
    const wire = fakeWire(openingBrowser);
    const browser = { connect: () => late.promise, close: () => Promise.resolve() };
    const deps = {
      browser,
      system: clock.system,
      guarded: true,
      requestMs: 180_000,
      ahead: noPagesAhead,
      kept: noKeptPages,
    };
    const result = withPage(deps, job, forever, () => Promise.resolve(1)).catch(
      (error: unknown) => error,
    );
    await clock.advance(60_000);
    expect(await result).toMatchObject({
      kind: "no_browser",
      options: { headers: { "retry-after": "5" } },
    });
    late.resolve(wire.wire);
    await settled();
    expect(wire.closed).toBe(true);
  });
});
