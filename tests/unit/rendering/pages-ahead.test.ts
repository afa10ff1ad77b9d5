import { describe, expect, it } from "vitest";
import { allowNone } from "../../../core/net/allow-hosts.ts";
import type { Wire } from "../../../core/ports.ts";
import type { RenderBody } from "../../../core/rendering/input/body.ts";
import { jobWith, type Job } from "../../../core/rendering/job/job.ts";
import { patternCompiler } from "../../../core/rendering/job/patterns.ts";
import { noKeptPages } from "../../../core/rendering/page/kept-pages.ts";
import { pagesAhead } from "../../../core/rendering/page/pages-ahead.ts";
import { withPage, type PageDeps } from "../../../core/rendering/page/with-page.ts";
import { fakeClock, settled, type FakeClock } from "../../fakes/rendering-system.ts";
import {
  fakeWire,
  openingBrowser,
  type FakeWire,
  type SeenCall,
} from "../../fakes/rendering-wire.ts";

const login = { url: "http://egress.invalid/", username: "browser", password: "secret" };
const forever = new AbortController().signal;
const jobOf = (body: RenderBody): Job =>
  jobWith(patternCompiler, body, { allow: allowNone, caps: {}, unsafeRegex: false });

interface Setting {
  readonly clock: FakeClock;
  readonly deps: PageDeps;
  readonly wires: FakeWire[];
  readonly stop: AbortController;
  /** Renders one page and gives the number of the connection that it had. */
  readonly render: (body?: RenderBody) => Promise<number | string>;
}

/** A browser that plays `script` on the connections of the given numbers, and opens pages on all others. */
function setting(
  count: number,
  script: (call: SeenCall, n: number) => boolean = () => true,
): Setting {
  const clock = fakeClock();
  const stop = new AbortController();
  const wires: FakeWire[] = [];
  const connect = (): Promise<Wire> => {
    const n = wires.length;
    const wire = fakeWire((call, say) => (script(call, n) ? openingBrowser(call, say) : undefined));
    wires.push(wire);
    return Promise.resolve(wire.wire);
  };
  const session = {
    browser: { connect, close: () => Promise.resolve() },
    system: { ...clock.system, closing: stop.signal },
    guarded: true,
    login: () => login,
    requestMs: 60_000,
  };
  const deps = { ...session, ahead: pagesAhead(count, session), kept: noKeptPages };
  const render = async (body: RenderBody = { html: "x" }): Promise<number | string> => {
    let used = -1;
    const work = withPage(deps, jobOf(body), forever, async (page) => {
      await page.call("Page.printToPDF");
      used = wires.findIndex(({ calls }) => calls.at(-1)?.method === "Page.printToPDF");
    });
    const failure = await work.then(
      () => null,
      (error: unknown) => String(error),
    );
    await settled();
    return failure ?? used;
  };
  return { clock, deps, wires, stop, render };
}

const open = (wires: readonly FakeWire[]): number => wires.filter(({ closed }) => !closed).length;

describe("pagesAhead()", () => {
  it("makes pages from the first request on, and uses each once", async () => {
    const { wires, render } = setting(2);
    expect(wires).toEqual([]);
    const used = [await render(), await render(), await render(), await render()];
    expect(new Set(used).size).toBe(4);
    expect(open(wires)).toBe(2);
    for (const n of used) expect(wires[Number(n)]?.closed).toBe(true);
  });

  it("makes no page beside a rendering that is alone, while another one is ready", async () => {
    const { wires, deps, render } = setting(2);
    await render();
    const seen: number[] = [];
    const use = async (): Promise<void> => {
      await settled();
      seen.push(wires.length);
    };
    const job = jobOf({ html: "x" });
    const before = wires.length;
    await withPage(deps, job, forever, use);
    await settled();
    expect([seen, open(wires)]).toEqual([[before], 2]);
    await Promise.all([withPage(deps, job, forever, use), withPage(deps, job, forever, use)]);
    expect(seen.at(-1)).toBeGreaterThan(before + 1);
  });

  it("gives renderings that run together a page each", async () => {
    const { wires, deps, render } = setting(2);
    await render();
    const pages = new Set<unknown>();
    const job = jobOf({ html: "x" });
    const both = Promise.withResolvers<void>();
    const use = async (page: unknown): Promise<void> => {
      pages.add(page);
      if (pages.size === 2) both.resolve();
      await both.promise;
    };
    const [ahead] = wires.slice(1);
    await Promise.all([1, 2].map(() => withPage(deps, job, forever, use)));
    const versions = ahead?.calls.filter(({ method }) => method === "Browser.getVersion");
    expect(versions).toHaveLength(1);
  });

  it("gives a page nothing of a job before that has it, and everything before its first request", async () => {
    const { wires, render } = setting(1);
    await render();
    const ahead = wires.findIndex(({ closed }) => !closed);
    const waiting = wires[ahead];
    const before = waiting?.calls.length ?? 0;
    const body = {
      url: "http://example.com/",
      userAgent: "mine",
      cookies: [{ name: "a", value: "b" }],
      viewport: { width: 10, height: 20 },
      emulateMediaType: "print",
      setJavaScriptEnabled: false,
      rejectResourceTypes: ["websocket"],
    };
    expect(await render(body)).toBe(ahead);
    const told = (calls: readonly SeenCall[] = []): string =>
      JSON.stringify(calls.map(({ method, params }) => [method, params]));
    expect(told(waiting?.calls.slice(0, before))).not.toMatch(/mine|example|setCookies|ws:/);
    const later = waiting?.calls.slice(before).map(({ method }) => method) ?? [];
    const print = later.indexOf("Page.printToPDF");
    for (const method of [
      "Storage.setCookies",
      "Network.setUserAgentOverride",
      "Network.setBlockedURLs",
      "Emulation.setDeviceMetricsOverride",
      "Emulation.setEmulatedMedia",
      "Emulation.setScriptExecutionDisabled",
    ])
      expect(later.slice(0, print)).toContain(method);
  });

  it("refuses what a page asks for before it has a job", async () => {
    const { wires, render } = setting(1);
    await render();
    const waiting = wires.find(({ closed }) => !closed);
    const request = { url: "http://example.com/", headers: {} };
    const ask = (requestId: string, url: string): SeenCall | undefined => {
      waiting?.say({
        method: "Fetch.requestPaused",
        params: { requestId, request: { ...request, url }, frameId: "T", resourceType: "Fetch" },
        sessionId: "S",
      });
      return waiting?.calls.at(-1);
    };
    const refused = { method: "Fetch.failRequest", params: { requestId: "early" } };
    expect(ask("early", request.url)).toMatchObject(refused);
    expect(ask("early", `${login.url}x`)).toMatchObject(refused);
    // Only what its proxy asks for may it answer by then.
    expect(ask("login", login.url)).toMatchObject({
      method: "Fetch.continueRequest",
      params: { requestId: "login" },
    });
  });

  it("throws pages away that nobody has asked for in half a minute", async () => {
    const { clock, wires, render } = setting(2);
    await render();
    await clock.advance(29_999);
    expect(open(wires)).toBe(2);
    await clock.advance(1);
    expect(open(wires)).toBe(0);
    // And makes new ones when there is work again.
    await render();
    expect(open(wires)).toBe(2);
  });

  it("keeps pages that are asked for", async () => {
    const { clock, wires, render } = setting(1);
    await render();
    await clock.advance(20_000);
    await render();
    await clock.advance(20_000);
    expect(open(wires)).toBe(1);
    await clock.advance(10_000);
    expect(open(wires)).toBe(0);
  });

  it("forgets pages of a browser that died, and pages that crashed while they waited", async () => {
    const { wires, render } = setting(2);
    await render();
    const waiting = wires.filter(({ closed }) => !closed);
    expect(waiting).toEqual(wires.slice(1, 3));
    waiting[0]?.end("killed");
    waiting[1]?.say({ method: "Inspector.targetCrashed", params: {}, sessionId: "S" });
    await settled();
    expect(await render()).toBe(3);
  });

  it("opens another page when the one that waited does not answer any more", async () => {
    // The second connection is the page that is made ahead: it has gone silent when it is needed.
    let isSilent = false;
    const { clock, wires, render } = setting(1, (_, n) => n !== 1 || !isSilent);
    await render();
    isSilent = true;
    const used = render();
    await settled();
    await clock.advance(10_000);
    expect(await used).toBeGreaterThan(1);
    expect(wires[1]?.killed).toBe(true);
  });

  it("keeps one page ready, not many, while as many are in use", async () => {
    const { wires, deps } = setting(3);
    const done = Promise.withResolvers<void>();
    const busy = Array.from({ length: 3 }, () =>
      withPage(deps, jobOf({ html: "x" }), forever, () => done.promise),
    );
    await settled();
    expect(open(wires)).toBe(4);
    done.resolve();
    await Promise.all(busy);
    await settled();
    expect(open(wires)).toBe(3);
  });

  it("forgets a rendering that could not begin", async () => {
    const { wires, deps, render } = setting(2);
    const aborted = AbortSignal.abort(new Error("gone"));
    for (let n = 0; n < 5; n++)
      await expect(
        withPage(deps, jobOf({ html: "x" }), aborted, () => Promise.resolve()),
      ).rejects.toThrow();
    await render();
    expect(open(wires)).toBe(2);
    // Had they counted on, five would count as being used, and a page more would be ready for each.
    const done = Promise.withResolvers<void>();
    const busy = [1, 2].map(() =>
      withPage(deps, jobOf({ html: "x" }), forever, () => done.promise),
    );
    await settled();
    expect(open(wires)).toBe(3);
    done.resolve();
    await Promise.all(busy);
  });

  it("makes no new pages while many are being disposed of", async () => {
    const { wires, render } = setting(1, ({ method }) => method !== "Target.disposeBrowserContext");
    await render();
    await render();
    await render();
    await render();
    const used = wires.filter(({ calls }) =>
      calls.some(({ method }) => method === "Page.printToPDF"),
    );
    expect(used).toHaveLength(4);
    expect(wires.length - used.length).toBe(0);
  });

  it("ends with the platform", async () => {
    const { stop, wires, render } = setting(2);
    await render();
    stop.abort(new Error("closing"));
    await settled();
    expect(open(wires)).toBe(0);
  });
});
