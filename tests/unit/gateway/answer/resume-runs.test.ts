import { describe, expect, it } from "vitest";
import { resumeOffsets } from "../../../../core/gateway/resume/resume-offsets.ts";
import { peekFirstLine } from "../../../../core/gateway/wire/first-line.ts";
import { linkAbort } from "../../../../core/gateway/call/abort-link.ts";
import { resumableRuns, type ResumeOptions } from "../../../../core/gateway/resume/runs.ts";
import type { System } from "../../../../core/ports.ts";
import { type FedStream, fedStream } from "../../../fakes/gateway-fed-stream.ts";
import { bytes } from "../../../fakes/gateway-transport.ts";
import { fakeClock, settled } from "../../../fakes/rendering-system.ts";

const never = new AbortController().signal;
const name = { account: "acme", gateway: "open" };

/** Runs over a clock that stands still. */
function shelf(options: ResumeOptions = {}, more: Partial<System> = {}) {
  const clock = fakeClock();
  let ids = 0;
  const random = (length: number): Uint8Array => new Uint8Array(length).fill(++ids);
  const runs = resumableRuns(options, { ...clock.system, random, ...more });
  const hold = (source: FedStream, client = new AbortController()) => {
    const link = linkAbort(client.signal, false);
    link.signal.addEventListener("abort", () => source.fail());
    const held = runs.hold(source.body, {
      name,
      scope: null,
      abortLink: link,
      contentType: "text/event-stream",
    });
    return { ...held, client, reader: held.body.getReader(), call: link.signal };
  };
  const resume = (runId: string, from: number, client = never, owner = name) => {
    const { body } = runs.resume({ name: owner, scope: null, runId, from, client });
    return (body as ReadableStream<Uint8Array>).getReader();
  };
  return { clock, hold, resume };
}

/** The text of as many reads. */
async function reads(reader: ReadableStreamDefaultReader<Uint8Array>, count = 1): Promise<string> {
  let all = "";
  for (let i = 0; i < count; i++) all += new TextDecoder().decode((await reader.read()).value);
  return all;
}

/** All that is left. */
async function rest(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let all = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return all;
    all += decoder.decode(value, { stream: true });
  }
}

describe("a run", () => {
  it("goes on from any event, whatever the boundaries of chunks, with what still comes", async () => {
    const { hold, resume } = shelf();
    const whole = "data: a\n\n: c\n\nevent: x\ndata: ü\n\ndata: d\n\ndata: end\n\n";
    const all = bytes(whole);
    for (const size of [1, 3, 7, 1000]) {
      const source = fedStream();
      const { runId, client } = hold(source);
      for (let at = 0; at < all.length; at += size) source.send(all.slice(at, at + size));
      client.abort();
      for (let at = 0; at < all.length; at += size) await settled();
      const first = rest(resume(runId, 3));
      await settled();
      source.send("data: live\n\n");
      source.close();
      expect(await first).toBe("data: d\n\ndata: end\n\ndata: live\n\n");
      expect(await rest(resume(runId, 0))).toBe(`${whole}data: live\n\n`);
      expect(await rest(resume(runId, 6))).toBe("");
    }
  });

  it("asks the provider for nothing while its client has not taken all", async () => {
    const { hold } = shelf();
    const source = fedStream();
    const { reader } = hold(source);
    await settled();
    expect(source.pulls).toBe(0);
    const read = reads(reader);
    await settled();
    source.send("data: 1\n\n");
    expect(await read).toBe("data: 1\n\n");
    await settled();
    expect(source.pulls).toBe(1);
  });

  it("is read as it comes once its client has left, and again at the pace of the next one", async () => {
    const { hold, resume } = shelf();
    const source = fedStream();
    const { runId, client, call } = hold(source);
    client.abort();
    for (let i = 0; i < 5; i++) {
      source.send(`data: ${i}\n\n`);
      await settled();
    }
    expect(call.aborted).toBe(false);
    expect(source.pulls).toBeGreaterThanOrEqual(5);
    const next = resume(runId, 2);
    source.send("data: 5\n\n", "data: 6\n\n");
    expect(await reads(next, 4)).toBe("data: 2\n\ndata: 3\n\ndata: 4\n\ndata: 5\n\n");
    await settled();
    expect(await reads(next)).toBe("data: 6\n\n");
  });

  it("belongs to the last who took it up", async () => {
    const { hold, resume } = shelf();
    const source = fedStream();
    const { runId, reader } = hold(source);
    const read = reader.read();
    const next = resume(runId, 0);
    await expect(read).rejects.toMatchObject({ name: "TransportError" });
    source.send("data: 1\n\n");
    expect(await reads(next)).toBe("data: 1\n\n");
  });

  it("is found by its id, below its own gateway, and nowhere else", () => {
    const { hold, resume } = shelf();
    const { runId } = hold(fedStream());
    expect(runId).toMatch(/^[0-9a-f]{32}$/);
    expect(() => resume(`${runId}0`, 0)).toThrow("This run is unknown");
    for (const other of [
      { ...name, account: "other" },
      { ...name, gateway: "other" },
    ]) {
      expect(() => resume(runId, 0, never, other)).toThrow("This run is unknown");
    }
    expect(() => resume(runId, 1)).toThrow("0 events");
    expect(() => resume(runId, 0)).not.toThrow();
  });

  it("ends with its provider's request when nobody comes back in time", async () => {
    const { hold, resume, clock } = shelf({ seconds: 60 });
    const source = fedStream();
    const { runId, client, call } = hold(source);
    source.send("data: 1\n\n");
    client.abort();
    await clock.advance(59_999);
    const again = new AbortController();
    expect(await reads(resume(runId, 0, again.signal))).toBe("data: 1\n\n");
    await clock.advance(3_600_000);
    expect(call.aborted).toBe(false);
    again.abort();
    await clock.advance(59_000);
    expect(call.aborted).toBe(false);
    await clock.advance(10_000);
    expect(call.aborted).toBe(true);
    expect(() => resume(runId, 0)).toThrow("60 s");
  });

  it("can be taken up for 330 seconds after its end", async () => {
    const { hold, resume, clock } = shelf();
    const source = fedStream();
    const { runId, reader } = hold(source);
    source.send("data: 1\n\n");
    source.close();
    await rest(reader);
    await clock.advance(329_999);
    expect(await rest(resume(runId, 0))).toBe("data: 1\n\n");
    await clock.advance(330_000);
    expect(() => resume(runId, 0)).toThrow("This run is unknown");
  });

  it("gives way, the oldest first, when the bytes run out", async () => {
    const event = `data: ${"x".repeat(92)}\n\n`;
    const { hold, resume } = shelf({ bytes: 6_000 });
    const [left, read, third] = [fedStream(), fedStream(), fedStream()];
    const first = hold(left);
    const second = hold(read);
    const youngest = hold(third);
    first.client.abort();
    second.client.abort();
    for (let i = 0; i < 3; i++) left.send(event);
    await settled();
    for (let i = 0; i < 16; i++) third.send(event);
    await reads(youngest.reader, 16);
    await settled();
    expect(first.call.aborted).toBe(true);
    expect(() => resume(first.runId, 0)).toThrow("This run is unknown");
    expect([second.call.aborted, youngest.call.aborted]).toEqual([false, false]);
    // Alone too heavy: it cannot be taken up again, but whoever reads it is served to the end.
    const following = rest(youngest.reader);
    for (let i = 0; i < 60; i++) third.send(event);
    third.close();
    expect(await following).toBe(event.repeat(60));
    expect(() => resume(youngest.runId, 0)).toThrow("This run is unknown");
    expect(() => resume(second.runId, 0)).toThrow("This run is unknown");
  });

  it("weighs what it has to know of each event, however short", async () => {
    const { hold, resume } = shelf({ bytes: 6_000 });
    const source = fedStream();
    const { runId, reader } = hold(source);
    source.send("a\n\n".repeat(300));
    await reader.read();
    expect(() => resume(runId, 300)).not.toThrow();
    const other = fedStream();
    const long = hold(other);
    other.send("a\n\n".repeat(500));
    await long.reader.read();
    expect(() => resume(long.runId, 500)).toThrow("This run is unknown");
  });

  it("ends at once with its client when it was let go before", async () => {
    const { hold } = shelf({ bytes: 2_000 });
    const source = fedStream();
    const { reader, client, call } = hold(source);
    source.send(`data: ${"x".repeat(3_000)}\n\n`);
    await reader.read();
    expect(call.aborted).toBe(false);
    client.abort();
    await settled();
    expect(call.aborted).toBe(true);
  });

  it("cannot be taken up any more when its events cannot be counted", async () => {
    const { hold, resume } = shelf();
    for (const odd of ["data: 2\r\n\r\n", "\n\n"]) {
      const source = fedStream();
      const { runId, reader } = hold(source);
      source.send("data: 1\n\n", odd, "data: 3\n\n");
      source.close();
      expect(await rest(reader)).toBe(`data: 1\n\n${odd}data: 3\n\n`);
      expect(() => resume(runId, 1)).toThrow("This run is unknown");
    }
  });

  it("breaks off where its provider broke off", async () => {
    const { hold, resume } = shelf();
    const source = fedStream();
    const { runId, client } = hold(source);
    source.send("data: 1\n\n", "data: 2\n\n", "data: ha");
    client.abort();
    await settled();
    source.fail();
    await settled();
    const again = resume(runId, 1);
    expect(await reads(again, 2)).toBe("data: 2\n\ndata: ha");
    await expect(again.read()).rejects.toMatchObject({ reason: "broken" });
    expect(() => resume(runId, 2)).toThrow("This run is unknown");
  });

  it("holds up no shutdown when nobody reads it", async () => {
    const end = new AbortController();
    const { hold } = shelf({}, { closing: end.signal });
    const [left, kept] = [hold(fedStream()), hold(fedStream())];
    left.client.abort();
    await settled();
    end.abort();
    await settled();
    expect([left.call.aborted, kept.call.aborted]).toEqual([true, false]);
    kept.client.abort();
    await settled();
    expect(kept.call.aborted).toBe(true);
  });

  it("refuses limits that keep nothing", () => {
    expect(() => shelf({ seconds: 0 })).toThrow("above 0");
    expect(() => shelf({ bytes: Number.NaN })).toThrow("above 0");
  });
});

describe("linkAbort()", () => {
  it("ties a call to its client until it is let go, and for good within a process", () => {
    for (const [deliberate, detach, ends] of [
      [false, false, true],
      [false, true, false],
      [true, true, true],
    ] as const) {
      const client = new AbortController();
      const link = linkAbort(client.signal, deliberate);
      if (detach) link.detach();
      client.abort();
      expect(link.signal.aborted).toBe(ends);
    }
    expect(linkAbort(AbortSignal.abort(), false).signal.aborted).toBe(true);
    const link = linkAbort(never, true);
    link.abort("over");
    expect(link.signal.reason).toBe("over");
  });
});

describe("resumeOffsets()", () => {
  it("finds the same ends in every cut of a stream", () => {
    const all = bytes("data: a\n\n:\n\ndata: b\ndata: c\n\n\ndata: d\n\nrest");
    const whole = resumeOffsets().push(all);
    expect(whole).toEqual([9, 12, 29, 39]);
    for (let one = 0; one <= all.length; one++) {
      for (let two = one; two <= all.length; two++) {
        const ends = resumeOffsets();
        const parts = [all.slice(0, one), all.slice(one, two), all.slice(two)];
        expect(parts.flatMap((part) => ends.push(part))).toEqual(whole);
      }
    }
  });

  it("takes no stream with CR LF or with empty events, wherever it is cut", () => {
    for (const odd of ["data: a\r\n\r\n", "data: a\n\n\n\ndata: b\n\n"]) {
      const all = bytes(odd);
      for (let cut = 0; cut <= all.length; cut++) {
        const ends = resumeOffsets();
        expect([ends.push(all.slice(0, cut)), ends.push(all.slice(cut))]).toContain(null);
      }
    }
  });
});

describe("peekFirstLine()", () => {
  const peek = async (chunks: readonly string[]): Promise<[boolean, string]> => {
    const source = fedStream();
    source.send(...chunks);
    source.close();
    const { stream, isLf } = await peekFirstLine(source.body, null);
    return [isLf, await new Response(stream).text()];
  };

  it("tells how the first line ends and loses nothing", async () => {
    expect(await peek(["da", "ta: 1\n", "\n"])).toEqual([true, "data: 1\n\n"]);
    expect(await peek(["data: 1\r", "\n\r\n"])).toEqual([false, "data: 1\r\n\r\n"]);
    expect(await peek(["data: 1\r\rdata: 2\n\n"])).toEqual([false, "data: 1\r\rdata: 2\n\n"]);
    expect(await peek(["no line"])).toEqual([false, "no line"]);
    expect(await peek([])).toEqual([false, ""]);
    const long = "x".repeat(70_000);
    expect(await peek([long, "\n"])).toEqual([false, `${long}\n`]);
  });

  it("waits no longer than it may, and hands on what comes then", async () => {
    const source = fedStream();
    const { stream, isLf } = await peekFirstLine(source.body, Promise.resolve(false as const));
    source.send("data: 1\n\n");
    source.close();
    expect([isLf, await new Response(stream).text()]).toEqual([false, "data: 1\n\n"]);
  });

  it("leaves it to the stream to tell that it broke off", async () => {
    const source = fedStream();
    source.fail();
    const { stream, isLf } = await peekFirstLine(source.body, null);
    expect(isLf).toBe(false);
    await expect(new Response(stream).text()).rejects.toThrow();
  });
});
