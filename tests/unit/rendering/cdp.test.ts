import { describe, expect, it } from "vitest";
import { CdpError, openCdp } from "../../../core/rendering/cdp/cdp.ts";
import { fakeClock, settled } from "../../fakes/rendering-system.ts";
import { fakeWire, type FakeWire } from "../../fakes/rendering-wire.ts";

const open = (script: Parameters<typeof fakeWire>[0]) => {
  const clock = fakeClock();
  const stop = new AbortController();
  const fake: FakeWire = fakeWire(script);
  const cdp = openCdp(fake.wire, { system: clock.system, callMs: 1000 });
  cdp.endWith(stop.signal);
  return { clock, stop, fake, cdp };
};

describe("openCdp()", () => {
  it("answers calls in whatever order the answers come", async () => {
    const { fake, cdp } = open(() => undefined);
    const [first, second] = [cdp.call("A.a"), cdp.call("B.b", { x: 1 }, "s1")];
    expect(fake.calls).toMatchObject([
      { method: "A.a" },
      { method: "B.b", params: { x: 1 }, sessionId: "s1" },
    ]);
    fake.say({ id: fake.calls[1]?.id, result: { n: 2 } });
    fake.say({ id: fake.calls[0]?.id, result: { n: 1 } });
    expect(await Promise.all([first, second])).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it("rejects a refused call with the method and the browser's words", async () => {
    const { cdp } = open(() => ({ error: { message: "No such thing" } }));
    await expect(cdp.call("A.a")).rejects.toMatchObject({
      method: "A.a",
      message: "No such thing",
    });
    await expect(cdp.call("A.a")).rejects.toBeInstanceOf(CdpError);
  });

  it("gives every call its own deadline", async () => {
    const { clock, cdp } = open(() => undefined);
    const first = cdp.call("A.a").catch((error: unknown) => error);
    await clock.advance(600);
    const second = cdp.call("B.b").catch((error: unknown) => error);
    await clock.advance(400);
    expect(await first).toMatchObject({ kind: "render_timeout" });
    await clock.advance(600);
    expect(await second).toMatchObject({ kind: "render_timeout" });
  });

  it("ends every call on abort with its reason, and takes no more", async () => {
    const { stop, cdp } = open(() => undefined);
    const pending = cdp.call("A.a");
    const reason = new Error("gone");
    stop.abort(reason);
    await expect(pending).rejects.toBe(reason);
    await expect(cdp.call("B.b")).rejects.toBe(reason);
  });

  it("ends every call when the browser goes away", async () => {
    const { fake, cdp } = open(() => undefined);
    const pending = cdp.call("A.a");
    fake.end("crashed");
    await expect(pending).rejects.toMatchObject({ kind: "no_browser", status: 503 });
    await expect(cdp.call("B.b")).rejects.toMatchObject({ kind: "no_browser" });
  });

  it("hands events to every listener and ignores answers that nobody asked for", async () => {
    const { fake, cdp } = open(() => undefined);
    const seen: unknown[] = [];
    cdp.on((event) => seen.push(event));
    fake.say({ id: 99, result: {} });
    fake.say({ method: "Page.x", params: { a: 1 }, sessionId: "s" });
    fake.say({ method: "Page.y" });
    await settled();
    expect(seen).toEqual([
      { method: "Page.x", params: { a: 1 }, session: "s" },
      { method: "Page.y", params: {}, session: undefined },
    ]);
  });
});
