import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fromBase64 } from "../../../../core/crypto/encoding.ts";
import { contentDecoding } from "../../../../core/http/body/content-decoder.ts";
import type { ContentDecoder } from "../../../../core/ports.ts";
import type { AnswerWatch } from "../../../../core/gateway/call/recording.ts";
import { observer } from "../../../../core/gateway/metering/usage/observer.ts";
import type { Log } from "../../../../core/ports.ts";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, sentHeaders, streamReply } from "../../../fakes/gateway-transport.ts";

/** A completion and a stream of events with 7 and 3 tokens, packed. */
const packed = {
  gzip: {
    json: "H4sIAAAAAAAAA6tWSs7Iz0xOLVayiq5Wyk0tLk5MT1WyqlZKzs8rSc0rUbJSci86vOfw/FSl2tpYHaVSmHxBUX5uQUl8SX52al6xkpW5jlJyfm5BTmpJZn4eXNS4thYAAeTXdWEAAAA=",
    events:
      "H4sIAAAAAAAAA0tJLEm0UqhWSs7Iz0xOLVayiq5WSknNKUlUsqpWSs7PK0nNK1GyUvLIVKqtja3l4krBUB+ro1RanJieCtJQUJSfW1ASX5KfnZpXrGRlrqOUnJ9bkJNakpmfBxc1roWbE+3i7+cay8UFANDy9iCGAAAA",
  },
  deflate: {
    json: "eJyrVkrOyM9MTi1WsoquVspNLS5OTE9VsqpWSs7PK0nNK1GyUnIvOrzn8PxUpdraWB2lUph8QVF+bkFJfEl+dmpesZKVuY5Scn5uQU5qSWZ+HlzUuLYWAOLAJCc=",
    events:
      "eJxLSSxJtFKoVkrOyM9MTi1WsoquVkpJzSlJVLKqVkrOzytJzStRslLyyFSqrY2t5eJKwVAfq6NUWpyYngrSUFCUn1tQEl+Sn52aV6xkZa6jlJyfW5CTWpKZnwcXNa6FmxPt4u/nGsvFBQALty0A",
  },
  br: {
    json: "G2AAGJwFOZlYj/xVrihem2441d4wQe7IDzQIMIEgClu/r6j65G2dvi6WHnDxKcp4qfSoAg45oj+0pHnkMfRP5vNHy5vq87Ij94o7SuNQZwxQKQ==",
    events:
      "G4UAUIzDOBbcpI+06aYRKh3KbamOC9UgfEiGPsRsEIfahq3Q18VSJwfsl28HfHwqiyUALwss4DzgqoyRzjJQZMm/Rp7sDkroC6JNfg9VfeRgx9kr3ig6LqpjGHFK4ctfYh8=",
  },
  zstd: {
    json: "KLUv/SBhtQIAAsUSHMAlHa4f+Ds5Mk1uvqXcze5GykaSZgXfOpxd2QvdRKphJKCj91LYN3GgnDA6mlDhBek+GtZhJeN2TuTUu7JjALCL5+qwL55RwV0FAgDkLC4GoaA=",
    events:
      "KLUv/SCGHQMAIkYVGoBL2kuR7NCWjWZcsvYRosXC0LfAoDJjse4BZoZgOAyQFVg+rQpaOH8I7ml1wY1otDADXd01ganxw5gts9ZP4fde7eW8umMrmlwh96R5WJFXgMPGJAMASygYOYsC01N7",
  },
} as const;
const usage = { tokens_in: 7, tokens_out: 3 };

let gate: GatewayUnderTest;
let serial = 0;
const warnings: string[] = [];

beforeAll(async () => {
  const log: Log = (level, message, fields) => {
    if (level === "warn" && message.includes("encoding"))
      warnings.push(String(fields?.["encoding"]));
  };
  gate = await gatewayUnderTest({}, { log });
});
afterAll(() => gate.close());

/** Whether this runtime can undo an encoding; workerd has only what the standard names (docs/gateway/memory.md). */
function isReadable(encoding: string): boolean {
  return !["br", "zstd"].includes(encoding) || gate.platform.runtime !== "workers";
}

async function packedBy(format: "gzip" | "deflate", bytes: Uint8Array): Promise<Uint8Array> {
  const { body } = new Response(new Uint8Array(bytes));
  const readable = body?.pipeThrough(new CompressionStream(format)) ?? null;
  return new Uint8Array(await new Response(readable).arrayBuffer());
}

/** Sends a request whose answer is these bytes, in pieces; resolves to what the client got, and the row. */
async function answered(bytes: Uint8Array, encoding: string, type: string) {
  const pieces = Array.from({ length: Math.ceil(bytes.length / 5) }, (_, i) =>
    bytes.subarray(i * 5, i * 5 + 5),
  );
  gate.transport.behave = () => {
    const { headers, ...reply } = streamReply(pieces, { type });
    return { ...reply, headers: [...headers, ["content-encoding", encoding]] };
  };
  const event = `encoded-${serial++}`;
  const response = await gate.send("open/openai/x", jsonInit(chat, { "cf-aig-event-id": event }));
  const got = new Uint8Array(await response.arrayBuffer());
  const [row] = await gate.rowsOf("open", event, 1);
  return { response, got, row };
}

describe("an answer with a content encoding", () => {
  it.each(
    Object.entries(packed).flatMap(([encoding, { json, events }]) => [
      [encoding, "application/json", json],
      [encoding, "text/event-stream", events],
    ]),
  )(
    "in %s (%s) reaches the client unchanged, and is counted where it can be read",
    async (encoding, type, text) => {
      const bytes = fromBase64(text) ?? new Uint8Array(0);
      const { response, got, row } = await answered(bytes, encoding, type);
      expect(response.headers.get("content-encoding")).toBe(encoding);
      expect(got).toEqual(bytes);
      expect(row).toMatchObject({ success: true });
      const known = isReadable(encoding);
      expect(row).toMatchObject(known ? usage : { tokens_in: null, tokens_out: null });
      expect(warnings.includes(encoding)).toBe(!known);
    },
  );

  it("in deflate without its wrapper, as some servers send it, is counted and kept too", async () => {
    for (const [type, text] of [
      ["application/json", packed.deflate.json],
      ["text/event-stream", packed.deflate.events],
    ] as const) {
      // Two bytes before, a check sum behind (RFC 1950).
      const bytes = (fromBase64(text) ?? new Uint8Array(0)).slice(2, -4);
      const { got, row } = await answered(bytes, "deflate", type);
      expect([got, row]).toEqual([bytes, expect.objectContaining({ success: true, ...usage })]);
      const path = `/gateways/open/logs/${String(row?.["id"])}/response`;
      expect(await (await gate.manageRaw(path)).text()).toContain("tokens");
    }
    const empty = await answered(new Uint8Array(0), "deflate", "application/json");
    expect(empty.row).toMatchObject({ success: true, tokens_in: null });
  });

  it("in several layers is undone layer by layer", async () => {
    const inner = fromBase64(packed.gzip.json) ?? new Uint8Array(0);
    const bytes = await packedBy("deflate", await packedBy("gzip", inner));
    const { got, row } = await answered(bytes, "GZIP, gzip ,deflate", "application/json");
    expect([got.length, row]).toEqual([bytes.length, expect.objectContaining(usage)]);
    for (const list of ["gzip, x-odd", "gzip, gzip, gzip, gzip"]) {
      const other = await answered(bytes, list, "application/json");
      expect(other.row).toMatchObject({ success: true, tokens_in: null });
    }
  });

  it("reaches the client while nothing of it can be decoded yet", async () => {
    for (const encoding of ["gzip", "br", "zstd"] as const) {
      const bytes = fromBase64(packed[encoding].events) ?? new Uint8Array(0);
      gate.transport.behave = () => {
        const reply = streamReply([bytes.subarray(0, 3)], { ending: "hang" });
        return { ...reply, headers: [...reply.headers, ["content-encoding", encoding]] };
      };
      const response = await gate.send("open/openai/x", jsonInit(chat));
      const reader = response.body?.getReader();
      expect((await reader?.read())?.value).toEqual(bytes.subarray(0, 3));
      await reader?.cancel();
    }
  });

  it("is asked for only where it can be read", async () => {
    const accepted = "br, gzip, deflate, zstd, compress";
    gate.transport.behave = () => jsonReply({});
    await (
      await gate.send("open/openai/x", jsonInit(chat, { "accept-encoding": accepted }))
    ).arrayBuffer();
    const sent = sentHeaders(gate.transport.requests.at(-1))["accept-encoding"];
    const expected = ["br", "deflate", "gzip", "zstd"].filter(isReadable);
    expect(sent?.split(", ")).toEqual(expected);
  });

  it("that nobody knows is passed on, and warned of once", async () => {
    for (let i = 0; i < 3; i++) {
      const { got, row } = await answered(new Uint8Array([1, 2, 3]), "x-odd", "application/json");
      expect([...got]).toEqual([1, 2, 3]);
      expect(row).toMatchObject({ success: true, tokens_in: null });
    }
    expect(warnings.filter((name) => name === "x-odd")).toHaveLength(1);
  });

  it("that is a lie does no harm", async () => {
    const { got, row } = await answered(new Uint8Array([1, 2, 3]), "gzip", "application/json");
    expect([...got]).toEqual([1, 2, 3]);
    expect(row).toMatchObject({ success: true, tokens_in: null });
  });
});

describe("an answer that is a burden to decode", () => {
  const mebi = new Uint8Array(1024 * 1024);
  const seenThrough = (decoder: ContentDecoder): AnswerWatch => {
    const decoding = { ...contentDecoding({}), decoder: () => decoder };
    return observer(
      { decoding, unreadable: () => undefined },
      { contentType: "text/plain", contentEncoding: "br", keep: 100 },
    );
  };

  it("is read on only up to 256 MiB, whatever it unpacks to", async () => {
    let unpacked = 0;
    const decoder = new TransformStream<BufferSource, Uint8Array<ArrayBuffer>>({
      transform(_chunk, controller) {
        unpacked += 1;
        controller.enqueue(mebi);
      },
    });
    const watch = seenThrough(decoder);
    for (let i = 0; i < 1000; i++) watch.push(new Uint8Array(1));
    const { body } = await watch.finish();
    expect([body.complete, body.text?.length]).toEqual([false, 100]);
    expect(unpacked).toBeLessThan(270);
  });

  it("does not pile up for a decoder that does not follow", async () => {
    const asleep = new Promise<void>(() => undefined);
    const watch = seenThrough({
      readable: new ReadableStream({ pull: () => asleep }, { highWaterMark: 0 }),
      writable: new WritableStream({ write: () => asleep }),
    });
    for (let i = 0; i < 20; i++) watch.push(mebi);
    expect((await watch.finish()).body).toMatchObject({ complete: false, text: "" });
  });
});
