import { Readable } from "node:stream";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { splitMessages } from "../../adapters/shared/chromium/chromium-process.ts";
import { linksAction, scrapeAction } from "../../core/rendering/actions/actions.ts";
import { jsonPieces, JsonText } from "../../core/http/json/json-pieces.ts";
import { evaluateText } from "../../core/rendering/page/evaluate-text.ts";
import type { PageScript, TextMaker } from "../../core/rendering/page/scripts/page-functions.ts";
import { readFacts } from "../../core/rendering/page/scripts/page-scripts.ts";
import {
  insteadOfLong,
  MESSAGE_LIMIT,
  readMessage,
  sizeOfLong,
} from "../../core/rendering/cdp/long-answer.ts";
import type { Page } from "../../core/rendering/page/page.ts";

/** A page whose world is here; `navigates` forgets what is in it before the call of that number. */
function pageHere(navigates = 0): { readonly page: Page; readonly lengths: number[] } {
  const lengths: number[] = [];
  let world = {};
  const page = {
    world: { context: 1 },
    call(
      _method: string,
      params: { functionDeclaration: string; arguments: { value: unknown }[] },
    ) {
      if (lengths.length + 1 === navigates) world = {};
      const args = params.arguments.map(({ value }) => JSON.stringify(value)).join();
      const value: unknown = runInNewContext(`(${params.functionDeclaration})(${args})`, world);
      lengths.push(JSON.stringify(value).length);
      return Promise.resolve({ result: { value } });
    },
  } as unknown as Page;
  return { page, lengths };
}

const { signal } = new AbortController();
const wanted = { action: "links", what: "The page", hint: "take less", most: 7, things: "links" };
const textOf = (source: string, { page } = pageHere()): Promise<string> =>
  evaluateText(page, source as PageScript<TextMaker<[]>>, [], { wanted, signal });

it("reads a long text of a page in parts that cut no pair of surrogates", async () => {
  const here = pageHere();
  const text = `a${"😀".repeat(400_000)}`;
  expect(await textOf('function () { return "a" + "😀".repeat(400000); }', here)).toBe(text);
  expect(here.lengths.length).toBe(4);
  expect(Math.max(...here.lengths)).toBeLessThan(300_000);
});

it("begins a text again whose document is gone", async () => {
  const here = pageHere(2);
  const text = await textOf('function () { return "b".repeat(300000); }', here);
  expect([text.length, here.lengths.length]).toEqual([300_000, 4]);
});

it("leaves a text or list that is too long in the page, and says how long it is", async () => {
  const long = 'function (_, n = 0) { return "c".repeat(16 * 1024 * 1024 + n); }';
  expect((await textOf(long)).length).toBe(16 * 1024 * 1024);
  const here = pageHere();
  await expect(textOf(long.replace("n = 0", "n = 1"), here)).rejects.toMatchObject({
    kind: "page_too_large",
    message: "links: The page has 16777217 characters, and an answer may have 16777216: take less",
  });
  expect(here.lengths.length).toBe(1);
  expect(here.lengths[0]).toBeLessThan(100);
  await expect(textOf("function () { return 8; }")).rejects.toMatchObject({
    message: "links: The page has 8 links, and an answer may have 7: take less",
  });
});

it("parses no long picture and no long tree, with and without a session", () => {
  const data = "A".repeat(3_000_000);
  for (const session of [undefined, "S"]) {
    const message = JSON.stringify({ id: 7, result: { data }, sessionId: session });
    expect(readMessage(message, () => false)).toEqual({ id: 7, result: { data } });
    const tree = JSON.stringify({ id: 8, result: { nodes: [data] }, sessionId: session });
    const text = JSON.stringify({ nodes: [data] });
    expect(readMessage(tree, (id) => id === 8)).toEqual({ id: 8, result: { text } });
    expect(readMessage(tree, () => false).result).toEqual({ nodes: [data] });
    const other = JSON.stringify({ id: 9, result: { data: `${data}"` }, sessionId: session });
    expect(readMessage(other, () => false).result).toEqual({ data: `${data}"` });
  }
});

it("refuses the call whose answer is too long, by its size, and leaves out long events", () => {
  const refused = insteadOfLong('{"id":7,"result":{"data":"AAAA', 40_000_000);
  const { id, error } = readMessage(refused ?? "", () => false);
  expect([id, sizeOfLong(error)]).toEqual([7, 40_000_000]);
  expect(sizeOfLong({ message: "another" })).toBeUndefined();
  expect(insteadOfLong('{"method":"Network.requestWillBeSent"', 40_000_000)).toBeNull();
});

it("keeps nothing but the head of a message of a browser that is too long", async () => {
  const heard: string[] = [];
  const part = Buffer.from("é".repeat(500_000));
  const head = Buffer.from('{"id":7,"result":{"data":"');
  const count = Math.ceil(MESSAGE_LIMIT / part.length);
  const chunks = [
    head,
    ...Array.from({ length: count }, () => part),
    Buffer.from('"}}\0{"id":8}\0'),
  ];
  const cut = Buffer.from('{"id":9,"result":{"data":"é"}}\0');
  const pipe = Readable.from([...chunks, cut.subarray(0, 27), cut.subarray(27)]);
  splitMessages(pipe, (message) => heard.push(message));
  await new Promise((resolve) => pipe.once("end", resolve));
  const size = head.length + count * part.length + 3;
  expect(heard.slice(1)).toEqual(['{"id":8}', '{"id":9,"result":{"data":"é"}}']);
  expect(JSON.parse(heard[0] ?? "")).toMatchObject({ id: 7, error: { data: { size } } });
});

it("writes JSON in pieces as JSON.stringify does", () => {
  const long = `x${'😀\n"'.repeat(300_000)}`;
  const value = {
    result: { content: long, left: undefined, list: [1, { a: "b" }] },
    meta: {},
    none: null,
  };
  const pieces = [...jsonPieces(value)];
  expect(pieces.join("")).toBe(JSON.stringify(value));
  expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(1_500_000);
  expect([...jsonPieces({ a: new JsonText('["😀"]') })].join("")).toBe('{"a":["😀"]}');
});

it("bounds the links and elements of an answer, and the title", async () => {
  const page = (count: number): Page =>
    ({
      world: { context: 1 },
      call: () => Promise.resolve({ result: { value: { length: 0, first: "", mark: 0, count } } }),
    }) as unknown as Page;
  const facts = { title: "", url: null, base: null, drawable: true };
  await expect(linksAction({})(page(100_001), facts, signal)).rejects.toThrow("may have 100000: ");
  const elements = [{ selector: "b" }];
  await expect(scrapeAction({ elements })(page(50_001), facts, signal)).rejects.toThrow(
    "may have 50000: ",
  );
  // The scripts read members by the prototypes of a browser: one class stands for all of them here.
  const read: Record<string, unknown> = {
    title: "t".repeat(10_001),
    fonts: { status: "loaded" },
  };
  const Fake = function (): void {};
  const names = [...readFacts.matchAll(/reader\(\w+,"(\w+)"\)/gu)];
  for (const [, name = ""] of names)
    Object.defineProperty(Fake.prototype, name, { get: () => read[name] ?? null });
  const world = { Document: Fake, Element: Fake, HTMLElement: Fake, Node: Fake };
  const { title } = runInNewContext(`(${readFacts})()`, {
    ...world,
    document: Object.create(Fake.prototype),
  }) as {
    title: string;
  };
  expect(title.length).toBe(10_000);
});
