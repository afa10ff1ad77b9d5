import { describe, expect, it } from "vitest";
import { followNetwork } from "../../../core/rendering/page/network-idle.ts";
import { within } from "../../../core/rendering/input/timers.ts";
import { ApiError } from "../../../core/http/api-error.ts";
import { fakeClock, settled } from "../../fakes/rendering-system.ts";

const forever = new AbortController().signal;

describe("within()", () => {
  const expired = (): ApiError => new ApiError("render_timeout");

  it("rejects when time is up and tells the work", async () => {
    const clock = fakeClock();
    let told = false;
    const work = within({ ms: 100, system: clock.system, signal: forever, expired }, (signal) => {
      signal.addEventListener("abort", () => (told = true));
      return new Promise<void>(() => undefined);
    }).catch((error: unknown) => error);
    await clock.advance(99);
    expect(told).toBe(false);
    await clock.advance(1);
    expect(await work).toMatchObject({ kind: "render_timeout" });
    expect(told).toBe(true);
  });

  it("returns the work's result and rejects with the caller's reason", async () => {
    const { system } = fakeClock();
    expect(
      await within({ ms: 100, system, signal: forever, expired }, () => Promise.resolve(7)),
    ).toBe(7);
    const stop = new AbortController();
    const work = within(
      { ms: 100, system, signal: stop.signal, expired },
      () => new Promise(() => undefined),
    );
    stop.abort(new Error("left"));
    await expect(work).rejects.toThrow("left");
  });
});

describe("followNetwork()", () => {
  const event = (method: string, requestId: string, frameId = "F") => ({
    method,
    params: { requestId, frameId },
    session: "S",
  });

  const watch = async (limit: number) => {
    const clock = fakeClock();
    const network = followNetwork(clock.system);
    const state = { quiet: false };
    const start = (): void =>
      void network.quiet(limit, forever).then(() => {
        state.quiet = true;
      });
    return { clock, network, state, start };
  };

  it("is quiet after 500 ms without requests", async () => {
    const { clock, state, start } = await watch(0);
    start();
    await clock.advance(499);
    expect(state.quiet).toBe(false);
    await clock.advance(1);
    expect(state.quiet).toBe(true);
  });

  it("forgets what the former document of a frame asked for, and no other", async () => {
    const { clock, network, state, start } = await watch(0);
    const sent = (requestId: string, frameId: string, loaderId: string) => ({
      ...event("Network.requestWillBeSent", requestId),
      params: { requestId, frameId, loaderId },
    });
    network.see(sent("login", "F", "former"));
    network.see(sent("other", "G", "former"));
    network.see(sent("document", "F", "new"));
    const frame = { id: "F", loaderId: "new" };
    network.see({ method: "Page.frameNavigated", params: { frame }, session: "S" });
    start();
    await clock.advance(5000);
    expect(state.quiet).toBe(false);
    network.see(event("Network.loadingFinished", "document"));
    await settled();
    await clock.advance(5000);
    expect(state.quiet).toBe(false);
    network.see(event("Network.loadingFinished", "other"));
    await settled();
    await clock.advance(500);
    expect(state.quiet).toBe(true);
  });

  it("starts to wait anew with every request", async () => {
    const { clock, network, state, start } = await watch(0);
    start();
    await clock.advance(400);
    network.see(event("Network.requestWillBeSent", "1"));
    await settled();
    await clock.advance(5000);
    expect(state.quiet).toBe(false);
    network.see(event("Network.loadingFinished", "1"));
    await settled();
    await clock.advance(499);
    expect(state.quiet).toBe(false);
    await clock.advance(1);
    expect(state.quiet).toBe(true);
  });

  it("tolerates as many open requests as asked", async () => {
    const { clock, network, state, start } = await watch(2);
    for (const id of ["1", "2", "3"]) network.see(event("Network.requestWillBeSent", id));
    start();
    await clock.advance(5000);
    expect(state.quiet).toBe(false);
    network.see(event("Network.loadingFailed", "2"));
    await settled();
    await clock.advance(500);
    expect(state.quiet).toBe(true);
  });

  it("hears from a worker that the script has come that the page asked for", async () => {
    const { clock, network, state, start } = await watch(0);
    network.see(event("Network.requestWillBeSent", "1"));
    start();
    network.see({ ...event("Network.loadingFinished", "1"), session: "worker" });
    await settled();
    await clock.advance(500);
    expect(state.quiet).toBe(true);
  });

  it("forgets the requests of a frame that goes away", async () => {
    const { clock, network, state, start } = await watch(0);
    network.see(event("Network.requestWillBeSent", "1", "G"));
    start();
    network.see({ method: "Page.frameDetached", params: { frameId: "G" }, session: "S" });
    await settled();
    await clock.advance(500);
    expect(state.quiet).toBe(true);
  });
});
