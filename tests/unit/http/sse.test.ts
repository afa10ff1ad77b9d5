import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatEvent, sseResponse } from "../../../core/http/sse.ts";

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
      { "x-more": "1" },
    );
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(response.headers.get("x-more")).toBe("1");
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
