import { describe, expect, inject, it } from "vitest";
import { openPlatform } from "#platform";
import type { InboundResponse, OutboundRequest } from "../../core/ports.ts";

const LAST = "\n\nevent: error\ndata: {}\n\n";

const silence = { ms: 50, last: () => new TextEncoder().encode(LAST) };

/** What came of a body, and why it ended. */
async function readOut({ body }: InboundResponse): Promise<{ text: string; reason: unknown }> {
  if (!(body instanceof ReadableStream)) throw new TypeError("Whole");
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { text, reason: "complete" };
      text += decoder.decode(value);
    }
  } catch (error) {
    return { text, reason: Reflect.get(Object(error), "reason") };
  }
}

describe("An answer that falls silent in its middle", () => {
  const asked = (path: string, more: Partial<OutboundRequest> = {}): OutboundRequest => ({
    method: "GET",
    url: `${inject("upstream")}/${path}`,
    headers: [],
    silence,
    ...more,
  });

  it("breaks off behind the last bytes that its request has for it", async () => {
    const { transport, close } = await openPlatform();
    expect(await readOut(await transport.send(asked("half-stream")))).toEqual({
      text: `data: 0\n\n${LAST}`,
      reason: "broken",
    });
    const plain = asked("half-stream", { silence: { ms: 50 } });
    expect(await readOut(await transport.send(plain))).toEqual({
      text: "data: 0\n\n",
      reason: "broken",
    });
    await close();
  });

  it("tells its watcher once that it broke", async () => {
    const { transport, close } = await openPlatform();
    const answer = await transport.send(asked("half-stream"));
    const told: string[] = [];
    const onEnd = (end: string): void => void told.push(end);
    transport.watch?.(answer.body as ReadableStream<Uint8Array>, {
      onChunk: () => undefined,
      onEnd,
    });
    await readOut(answer);
    expect(told).toEqual(["broken"]);
    await close();
  });

  it("is broken off by its watcher, behind last bytes for a reader that waits", async () => {
    const { transport, close } = await openPlatform();
    const answer = await transport.send(asked("half-stream", { silence: { ms: 600_000 } }));
    const told: string[] = [];
    const breakOff = transport.watch?.(answer.body as ReadableStream<Uint8Array>, {
      onChunk: () => undefined,
      onEnd: (end) => void told.push(end),
    });
    const reading = readOut(answer);
    await new Promise((resolve) => setTimeout(resolve, 100));
    breakOff?.(new TextEncoder().encode(LAST));
    breakOff?.(new TextEncoder().encode("not again"));
    expect(await reading).toEqual({ text: `data: 0\n\n${LAST}`, reason: "broken" });
    expect(told).toEqual(["broken"]);
    await close();
  });

  it("ends one whose length is known", async () => {
    const { transport, close } = await openPlatform();
    const work = transport.send(asked("halves?ms=600000")).then(readOut);
    const reason = await work.then(
      (out) => out.reason,
      (error: unknown) => Reflect.get(Object(error), "reason"),
    );
    expect(reason).toBe("broken");
    await close();
  });

  it("is left alone while it is slow and its reader slower", async () => {
    const { transport, close } = await openPlatform();
    const patient = asked("halves?ms=300", { silence: { ms: 30_000 } });
    const answer = await transport.send(patient);
    const { body } = answer;
    const text =
      body instanceof ReadableStream
        ? (await readOut(answer)).text
        : new TextDecoder().decode(body ?? undefined);
    expect(text).toBe("12");
    await close();
  });
});
