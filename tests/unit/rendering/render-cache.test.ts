import { describe, expect, it } from "vitest";
import { noteResponse, responseNote } from "../../../core/http/response-note.ts";
import { renderCache, type RenderCache } from "../../../core/rendering/render-cache.ts";
import { fakeClock, settled } from "../../fakes/rendering-system.ts";

const forever = new AbortController().signal;

/** A rendering that counts how often it is made; each answers its number. */
function counting(): { readonly made: () => number; readonly render: () => Promise<Response> } {
  let made = 0;
  const render = (): Promise<Response> => Promise.resolve(new Response(String((made += 1))));
  return { made: () => made, render };
}

const ask = async (
  cache: RenderCache,
  key: string,
  render: (signal: AbortSignal) => Promise<Response>,
  options: { readonly signal?: AbortSignal; readonly maxAgeMs?: number } = {},
): Promise<string> => {
  const { signal = forever, maxAgeMs = 5000 } = options;
  return (await cache.share({ key, maxAgeMs, signal, render })).text();
};

describe.each([true, false])("renderCache(), joining: %s", (joins) => {
  it("answers again while an answer is young enough for who asks", async () => {
    const clock = fakeClock();
    const cache = renderCache(clock.system, joins);
    const { render } = counting();
    expect(await ask(cache, "a", render)).toBe("1");
    expect(await ask(cache, "a", render)).toBe("1");
    expect(await ask(cache, "b", render)).toBe("2");
    await clock.advance(4999);
    expect(await ask(cache, "a", render)).toBe("1");
    expect(await ask(cache, "a", render, { maxAgeMs: 1000 })).toBe("3");
    await clock.advance(5000);
    expect(await ask(cache, "a", render)).toBe("4");
  });

  it("copies no bytes that the maker of an answer has noted", async () => {
    const bytes = Uint8Array.of(1, 2, 3);
    const answer = noteResponse(new Response(null), { body: bytes });
    const cache = renderCache(fakeClock().system, joins);
    const render = (): Promise<Response> => Promise.resolve(answer);
    const made = await cache.share({ key: "a", maxAgeMs: 5000, signal: forever, render });
    expect(responseNote(made)?.body).toBe(bytes);
    expect(new Uint8Array(await made.arrayBuffer())).toEqual(bytes);
    expect(answer.bodyUsed).toBe(false);
  });

  it("keeps no failures", async () => {
    const cache = renderCache(fakeClock().system, joins);
    const fail = (): Promise<Response> => Promise.reject(new Error("no page"));
    await expect(ask(cache, "a", fail)).rejects.toThrow("no page");
    const refuse = (): Promise<Response> => Promise.resolve(new Response("x", { status: 422 }));
    expect(await ask(cache, "a", refuse)).toBe("x");
    expect(await ask(cache, "a", counting().render)).toBe("1");
  });

  it("forgets the oldest answers beyond 64 MB, and keeps none of more than 16 MB", async () => {
    const cache = renderCache(fakeClock().system, joins);
    const { made, render } = counting();
    const big = (bytes: number) => async (): Promise<Response> => {
      await render();
      return new Response(new Uint8Array(bytes));
    };
    const megabyte = 1024 * 1024;
    for (const key of ["a", "b", "c", "d", "e"]) await ask(cache, key, big(15 * megabyte));
    await ask(cache, "e", big(1));
    await ask(cache, "b", big(1));
    expect(made()).toBe(5);
    await ask(cache, "a", big(1));
    expect(made()).toBe(6);
    await ask(cache, "huge", big(17 * megabyte));
    await ask(cache, "huge", big(17 * megabyte));
    expect(made()).toBe(8);
  });
});

describe("renderCache()", () => {
  it("makes equal renderings that overlap once, until the last caller leaves", async () => {
    const cache = renderCache(fakeClock().system, true);
    const done = Promise.withResolvers<void>();
    let signals: AbortSignal[] = [];
    const render = async (signal: AbortSignal): Promise<Response> => {
      signals.push(signal);
      await done.promise;
      return new Response("a");
    };
    const stops = [1, 2, 3].map(() => new AbortController());
    const answers = stops.map(({ signal }) =>
      ask(cache, "a", render, { signal }).catch((error: unknown) => String(error)),
    );
    stops[0]?.abort(new Error("left"));
    expect(await answers[0]).toBe("Error: left");
    expect([signals.length, signals[0]?.aborted]).toEqual([1, false]);
    done.resolve();
    expect(await Promise.all(answers.slice(1))).toEqual(["a", "a"]);

    signals = [];
    const stop = new AbortController();
    const never = (signal: AbortSignal): Promise<Response> => {
      signals.push(signal);
      return new Promise(() => undefined);
    };
    const alone = ask(cache, "b", never, { signal: stop.signal }).catch((error: unknown) => error);
    await settled();
    stop.abort(new Error("left"));
    await alone;
    expect(signals[0]?.aborted).toBe(true);
    // Whoever comes next does not wait for what was ended.
    expect(await ask(cache, "b", counting().render)).toBe("1");
  });

  it("is not confused by a rendering that ends after another took its place", async () => {
    const cache = renderCache(fakeClock().system, true);
    const old = Promise.withResolvers<Response>();
    const stop = new AbortController();
    const left = ask(cache, "a", () => old.promise, { signal: stop.signal }).catch(() => "left");
    await settled();
    stop.abort(new Error("left"));
    expect(await left).toBe("left");
    const next = Promise.withResolvers<Response>();
    const first = ask(cache, "a", () => next.promise);
    old.reject(new Error("ended"));
    await settled();
    const { made, render } = counting();
    const second = ask(cache, "a", render);
    next.resolve(new Response("one"));
    expect(await Promise.all([first, second])).toEqual(["one", "one"]);
    expect(made()).toBe(0);
  });

  it("lets no request wait for another's work where the runtime forbids it", async () => {
    const cache = renderCache(fakeClock().system, false);
    const { made, render } = counting();
    await Promise.all([ask(cache, "a", render), ask(cache, "a", render)]);
    expect(made()).toBe(2);
  });
});
