import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatEvent, sseEvents, sseResponse } from "../../../core/http/sse.ts";

interface Parsed {
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}

/** The parser of the HTML standard, section 9.2.6, kept as plain as the text. */
function parseStream(text: string): Parsed[] {
  const events: Parsed[] = [];
  let event = "";
  let data: string[] = [];
  let id: string | undefined;
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (line === "") {
      if (data.length > 0) events.push({ event: event || "message", data: data.join("\n"), id });
      event = "";
      data = [];
      continue;
    }
    const colon = line.indexOf(":");
    if (colon === 0) continue;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") event = value;
    if (field === "data") data.push(value);
    if (field === "id") id = value;
  }
  return events;
}

describe("formatEvent()", () => {
  it("gives back any text as the data of exactly one event", () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom("a", "\n", "\r", "\r\n", ":", " ", "data: x", "\u2028", "é"),
        }),
        (data) => {
          const normal = data.replaceAll(/\r\n|\r/g, "\n");
          expect(parseStream(formatEvent({ data }))).toEqual([
            { event: "message", data: normal, id: undefined },
          ]);
        },
      ),
    );
  });

  it("keeps a run of events apart", () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (texts) => {
        const stream = texts.map((data) => formatEvent({ data: JSON.stringify(data) })).join("");
        expect(parseStream(stream).map(({ data }): unknown => JSON.parse(data))).toEqual(texts);
      }),
    );
  });

  it("writes event, id and retry before the data", () => {
    expect(formatEvent({ data: "[]", event: "chunks", id: "7", retry: 1000 })).toBe(
      "event: chunks\nid: 7\nretry: 1000\ndata: []\n\n",
    );
  });
});

describe("sseResponse()", () => {
  it("streams events and ready-made text in order", async () => {
    const response = sseResponse(
      (async function* () {
        yield { data: "1" };
        yield ": comment\n\n";
        yield { data: "2" };
      })(),
    );
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(await response.text()).toBe("data: 1\n\n: comment\n\ndata: 2\n\n");
  });

  it("ends the source when the client leaves, and never runs far ahead of it", async () => {
    let made = 0;
    let ended = false;
    const source = async function* (): AsyncGenerator<string> {
      try {
        for (;;) yield `data: ${made++}\n\n`;
      } finally {
        ended = true;
      }
    };
    const reader = sseResponse(source()).body!.getReader();
    await reader.read();
    expect(made).toBeLessThan(5);
    await reader.cancel();
    expect(ended).toBe(true);
  });

  it("breaks the stream when the source throws", async () => {
    const source = async function* (): AsyncGenerator<string> {
      yield "data: 1\n\n";
      throw new Error("upstream");
    };
    await expect(sseResponse(source()).text()).rejects.toThrow();
  });
});

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("sseEvents()", () => {
  const text =
    ": note\r\nevent: a\r\ndata: é1\r\ndata:2\r\n\r\n\r\ndata: 🌍\n\nevent: b\rdata: x\r\rdata: cut off";
  const expected = [
    { event: "a", data: "é1\n2" },
    { event: "message", data: "🌍" },
    { event: "b", data: "x" },
  ];

  it("finds the same events whatever the chunks", async () => {
    const whole = bytes(text);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: whole.length }), { maxLength: 10 }), async (cuts) => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), whole.length];
        const stream = new ReadableStream<Uint8Array>({
          start(controller) {
            for (let i = 1; i < at.length; i++) controller.enqueue(whole.slice(at[i - 1], at[i]));
            controller.close();
          },
        });
        const events = [];
        for await (const event of sseEvents(stream)) events.push(event);
        expect(events).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });

  const endless = (piece: string): { body: ReadableStream<Uint8Array>; taken: () => number } => {
    let taken = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        taken += piece.length;
        controller.enqueue(bytes(piece));
      },
    });
    return { body, taken: () => taken };
  };

  it.each([
    ["one line", "x".repeat(64 * 1024)],
    ["lines", "data: x\n".repeat(8 * 1024)],
    ["empty lines of data", "data\ndata:\n".repeat(8 * 1024)],
  ])("reads no event of endless %s", async (_, piece) => {
    const { body, taken } = endless(piece);
    await expect(sseEvents(body).next()).rejects.toThrow("too long");
    expect(taken()).toBeLessThan(32 * 1024 * 1024);
  });

  it("finds the end of a line that came byte by byte, CR LF among them", async () => {
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes("data: ü\r\n\r\ndata: 2\r\rdata: 3\n\n"))
          controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    const found: string[] = [];
    for await (const { data } of sseEvents(stream)) found.push(data);
    expect(found).toEqual(["ü", "2", "3"]);
  });
});
