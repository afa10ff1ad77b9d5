import { describe, expect, it } from "vitest";
import { allowNone } from "../../../core/net/allow-hosts.ts";
import type { RenderBody } from "../../../core/rendering/input/body.ts";
import { jobWith } from "../../../core/rendering/job/job.ts";
import { patternCompiler } from "../../../core/rendering/job/patterns.ts";
import { noKeptPages } from "../../../core/rendering/page/kept-pages.ts";
import { noPagesAhead } from "../../../core/rendering/page/pages-ahead.ts";
import { withPage } from "../../../core/rendering/page/with-page.ts";
import { fakeClock } from "../../fakes/rendering-system.ts";
import { fakeWire, openingBrowser, type FakeWire } from "../../fakes/rendering-wire.ts";

/** Renders in a browser whose first pages crash after so many ms each, and returns the outcome and the number of pages. */
async function renderWith(
  crashes: readonly number[],
  body: RenderBody = { html: "x" },
): Promise<[outcome: string, pages: number]> {
  const clock = fakeClock();
  const wires: FakeWire[] = [];
  const deps = {
    browser: {
      connect: () => {
        const wire = fakeWire(openingBrowser);
        wires.push(wire);
        return Promise.resolve(wire.wire);
      },
      close: () => Promise.resolve(),
    },
    system: clock.system,
    guarded: true,
    requestMs: 60_000,
    ahead: noPagesAhead,
    kept: noKeptPages,
  };
  const job = jobWith(patternCompiler, body, { allow: allowNone, caps: {}, unsafeRegex: false });
  const { signal } = new AbortController();
  const outcome = await withPage(deps, job, signal, async (page) => {
    const ms = crashes[wires.length - 1];
    if (ms === undefined) return "rendered";
    await clock.advance(ms);
    wires.at(-1)?.say({ method: "Inspector.targetCrashed", params: {}, sessionId: "S" });
    await page.call("Page.printToPDF");
    return "not reached";
  }).catch((error: unknown) => String(error));
  return [outcome, wires.length];
}

const crashed = expect.stringContaining("The page crashed");

describe("a page that crashes", () => {
  it("is loaded once more when it has just begun", async () => {
    expect(await renderWith([0])).toEqual(["rendered", 2]);
    expect(await renderWith([2900])).toEqual(["rendered", 2]);
  });

  it("is not loaded a third time", async () => {
    expect(await renderWith([0, 0])).toEqual([crashed, 2]);
  });

  it("is not loaded again after a while, when its document may be the cause", async () => {
    expect(await renderWith([3000])).toEqual([crashed, 1]);
  });

  it("is not loaded again when something was to be done in it", async () => {
    const actions = [{ type: "click", selector: "a" }] as const;
    expect(await renderWith([0], { html: "x", actions: [...actions] })).toEqual([crashed, 1]);
  });
});
