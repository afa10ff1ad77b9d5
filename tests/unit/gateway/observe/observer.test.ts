import { describe, expect, it } from "vitest";
import { observer } from "../../../../core/gateway/metering/usage/observer.ts";
import { textBlocks } from "../../../../core/gateway/metering/usage/text-blocks.ts";
import { type Observation } from "../../../../core/gateway/call/recording.ts";
import { bodyBudget } from "../../../../core/work/body-budget.ts";
import { bytePieces } from "../../../../core/http/stream.ts";

const reading = {
  decoding: { readable: () => "", decoder: () => null },
  unreadable: () => undefined,
};
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** What is kept of an answer that comes in chunks of this size. */
async function kept(
  type: string,
  text: string,
  keep: number,
  chunk: number,
): Promise<Observation["body"]> {
  const watch = observer(reading, { contentType: type, contentEncoding: "", keep });
  const all = bytes(text);
  for (let at = 0; at < all.length; at += chunk) watch.push(all.slice(at, at + chunk));
  return (await watch.finish()).body;
}

describe("observer()", () => {
  const types = ["text/event-stream", "application/json", "text/plain; charset=utf-8"];
  const text = `data: "${"aé日🎉".repeat(20_000)}"\n\n`;
  const size = bytes(text).length;

  it.each(types)("keeps the whole text of %s up to its limit", async (type) => {
    for (const chunk of [7, 1000, size])
      expect(await kept(type, text, size, chunk)).toEqual({ text, size, complete: true });
  });

  it.each(types)("cuts %s off behind a whole character", async (type) => {
    for (const keep of [1, 8, 9, 10, 11, 12, 100_000, size - 1]) {
      const cut = await kept(type, text, keep, 999);
      expect(cut).toMatchObject({ size, complete: false });
      expect(text.startsWith(cut.text ?? "?")).toBe(true);
      expect(bytes(cut.text ?? "").length).toBeLessThanOrEqual(keep);
      expect(bytes(cut.text ?? "").length).toBeGreaterThan(keep - 4);
    }
  });

  it.each(types)("keeps nothing of %s where nothing is wanted", async (type) => {
    expect(await kept(type, text, 0, 999)).toEqual({ text: null, size, complete: false });
  });
});

describe("the copies of all answers under way", () => {
  const KEEP = 1024 * 1024;
  const chunk = bytes(`{"usage":{"prompt_tokens":1}}${" ".repeat(32 * 1024)}\n\n`);
  const types = ["text/event-stream", "application/json", "text/plain"];

  it.each(types)("take the memory that they have together, and give it back: %s", async (type) => {
    const copies = bodyBudget(200 * 1024);
    const begun = () =>
      observer({ ...reading, copies }, { contentType: type, contentEncoding: "", keep: KEEP });
    const [first, second] = [begun(), begun()];
    for (let at = 0; at < 8; at++) first.push(chunk);
    expect(copies.used).toBeGreaterThan(100 * 1024);
    for (let at = 0; at < 8; at++) second.push(chunk);
    expect(copies.used).toBeLessThanOrEqual(200 * 1024);
    const whole = await first.finish();
    expect(whole.body).toMatchObject({ size: 8 * chunk.length, complete: true });
    const cut = await second.finish();
    expect(cut.body).toMatchObject({ size: 8 * chunk.length, complete: false });
    // The beginning is kept in any case, and nothing behind a gap.
    const text = cut.body.text ?? "";
    expect(text.length).toBeGreaterThanOrEqual(chunk.length);
    expect(text.length).toBeLessThan(8 * chunk.length);
    expect(new TextDecoder().decode(chunk).repeat(8).startsWith(text)).toBe(true);
    expect(copies.used).toBe(0);
    const short = begun();
    short.push(chunk);
    expect((await short.finish()).body.complete).toBe(true);
  });

  it("count an event that does not end, and give up its usage when they are used up", async () => {
    const copies = bodyBudget(400 * 1024);
    const begun = () =>
      observer(
        { ...reading, copies },
        { contentType: "text/event-stream", contentEncoding: "", keep: 0 },
      );
    const [first, second] = [begun(), begun()];
    const report = bytes('data: {"usage":{"prompt_tokens":7}}\n\n');
    const endless = bytes(`data: [${'"a",'.repeat(8 * 1024)}`);
    for (const watch of [first, second]) for (let at = 0; at < 12; at++) watch.push(endless);
    expect(copies.used).toBeGreaterThan(300 * 1024);
    expect(copies.used).toBeLessThanOrEqual(400 * 1024);
    for (const watch of [first, second]) {
      watch.push(bytes("\n\n"));
      watch.push(report);
      expect((await watch.finish()).usage.tokensIn).toBe(7);
    }
    expect(copies.used).toBe(0);
  });

  it("leave the usage of short answers alone when they are used up", async () => {
    const copies = bodyBudget(0);
    const watch = observer(
      { ...reading, copies },
      { contentType: "application/json", contentEncoding: "", keep: 0 },
    );
    watch.push(chunk);
    expect((await watch.finish()).usage.tokensIn).toBe(1);
  });
});

describe("the end of a stream of events", () => {
  const chunk = `data: {"a":"${"x".repeat(70_000)}"}\n\n`;
  const isOver = async (text: string, size: number): Promise<boolean | undefined> => {
    const watch = observer(reading, {
      contentType: "text/event-stream",
      contentEncoding: "",
      keep: 0,
    });
    const all = bytes(text);
    for (let at = 0; at < all.length; at += size) watch.push(all.slice(at, at + size));
    return (await watch.finish()).isOver;
  };

  it.each([
    ["data: [DONE]\n\n", true],
    ["data:[DONE]\r\n\r\n", true],
    ["data: [DONE]", false],
    ["data: [DONE]\r\n", false],
    ['event: message_stop\ndata: {"type":"message_stop"}\n\n', true],
    ["data: [DONE]\n\ndata: {}\n\n", false],
    ['data: {"a":"data: [DONE]"}\n\n', false],
    ["data: [DON", false],
    ["", false],
  ])("has passed with %j: %s", async (last, expected) => {
    for (const size of [1, 5, 64 * 1024, 1_000_000]) {
      expect(await isOver(chunk + last, size)).toBe(expected);
      expect(await isOver(last, size)).toBe(expected);
    }
  });
});

describe("the tokens that pass", () => {
  const said = "word ".repeat(20);
  const chat = JSON.stringify({ choices: [{ message: { content: said } }] });
  const event = `data: ${JSON.stringify({ choices: [{ delta: { content: said } }] })}\n\n`;

  it.each([
    ["application/json", chat, 25],
    ["application/vnd.x+json; charset=utf-8", chat, 25],
    ["text/event-stream", event + event, 50],
    ["text/plain", said, 25],
    ["application/json", "", 0],
  ])("are counted of %s in one chunk and in many: %j", async (contentType, text, expected) => {
    for (const size of [1, 7, 50, 100_000]) {
      const watch = observer(
        { ...reading, counts: true },
        { contentType, contentEncoding: "", keep: 0 },
      );
      const all = bytes(text);
      for (let at = 0; at < all.length; at += size) watch.push(all.slice(at, at + size));
      expect((await watch.finish()).passed?.()).toBe(expected);
    }
  });

  it("are not counted where nobody asks", async () => {
    const watch = observer(reading, {
      contentType: "application/json",
      contentEncoding: "",
      keep: 0,
    });
    watch.push(bytes(chat));
    expect((await watch.finish()).passed).toBeUndefined();
  });
});

describe("bytePieces()", () => {
  it("keeps few pieces, and every byte in its place, however small the chunks", () => {
    const all = Uint8Array.from({ length: 100_000 }, (_, index) => index % 251);
    const pieces = bytePieces();
    let at = 0;
    for (let length = 0; at < all.length; length = (length + 1) % 4) {
      pieces.add(all.subarray(at, at + length));
      at += length;
    }
    expect(pieces.size).toBe(all.length);
    expect(pieces.list.length).toBeLessThan(1100);
    expect(pieces.whole()).toEqual(all);
  });
});

describe("textBlocks()", () => {
  it("hands over whole blocks and what is left, whatever the chunks", () => {
    const all = "ä€🎉x".repeat(50);
    for (const chunk of [1, 3, 64, 1000]) {
      const pieces: string[] = [];
      const blocks = textBlocks((piece) => pieces.push(piece), 64);
      for (let at = 0; at < bytes(all).length; at += chunk)
        blocks.push(bytes(all).slice(at, at + chunk));
      blocks.end();
      expect(pieces.join("")).toBe(all);
      expect(pieces.length).toBe(Math.ceil(bytes(all).length / 64));
    }
  });
});
