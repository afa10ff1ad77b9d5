import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { type FedStream, fedStream } from "../../../fakes/gateway-fed-stream.ts";
import { storeKeys, virtualKeys } from "../../../fakes/virtual-keys.ts";

let gate: GatewayUnderTest;
let keys: ReturnType<typeof virtualKeys>;
let sources: FedStream[];

beforeEach(async () => {
  gate = await gatewayUnderTest();
  keys = virtualKeys(gate);
  await storeKeys(gate, "closed");
  sources = [];
  gate.transport.behave = (request) => {
    const source = fedStream();
    sources.push(source);
    return source.answer(request);
  };
});
afterEach(() => gate.close());

const PATH = "closed/openai/v1/chat/completions";
const streamed = { ...chat, model: "gpt-4o", stream: true };
const tokens = (limit: number, more: object = {}) => ({
  limits: [{ limitType: "tokens", limit, ...more }],
});
/** Events of one token each, as providers send them. */
const events = (count: number): string =>
  `data: ${JSON.stringify({ object: "chat.completion.chunk", choices: [{ index: 0, delta: { content: "word" } }] })}\n\n`.repeat(
    count,
  );
const REFUSED = (message: string): string =>
  `\n\nevent: error\ndata: ${JSON.stringify({
    type: "error",
    error: { type: "rate_limit_error", code: 429, message: `Spend limit reached: ${message}` },
  })}\n\n`;

interface ReadStream {
  readonly words: number;
  readonly text: string;
  readonly isBroken: boolean;
}

async function read(response: Response): Promise<ReadStream> {
  let text = "";
  let isBroken = false;
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk);
  } catch {
    isBroken = true;
  }
  return { words: text.split('"word"').length - 1, text, isBroken };
}

interface Asked {
  readonly body?: object;
  readonly path?: string;
}

/** Begins a stream; resolves to its source and to what its client reads. */
async function begin(
  token: string,
  { body = streamed, path = PATH }: Asked = {},
): Promise<{ readonly source: FedStream; readonly reading: Promise<ReadStream> }> {
  const at = sources.length;
  const pending = gate.send(path, jsonInit(body, { authorization: `Bearer ${token}` }));
  const reading = pending.then(read);
  await expect.poll(() => sources.length).toBeGreaterThan(at);
  return { source: sources[at]!, reading };
}

/** Begins a stream, and feeds it with words until it has had all of them or is ended. */
async function whole(token: string, words: number, asked?: Asked): Promise<ReadStream> {
  const { source, reading } = await begin(token, asked);
  await feed(source, words);
  return reading;
}

async function feed(source: FedStream, words: number): Promise<void> {
  for (let sent = 0; sent < words && !source.isEnded; sent += 100) {
    source.send(events(100));
    // A provider is slower than a database.
    const asked = source.pulls;
    await expect.poll(() => source.isEnded || source.pulls > asked, { interval: 1 }).toBe(true);
  }
  if (!source.isEnded) source.close();
}

describe("a stream that its request does not bound", () => {
  it("ends with the budget of its key, and counts what has passed", async () => {
    const { key, id } = await keys.make(tokens(6000));
    const { words, text, isBroken } = await whole(key, 20_000);
    expect(isBroken).toBe(true);
    expect(text).toContain(REFUSED("the virtual key allows 6000 tokens in all"));
    expect(words).toBeGreaterThan(5500);
    await expect.poll(async () => (await keys.used(id))[0]).toBeLessThan(6300);
    expect((await keys.used(id))[0]).toBeGreaterThan(5500);
  });

  it("ends with the little that is left of a budget", async () => {
    const { key } = await keys.make(tokens(300));
    const { words, isBroken } = await whole(key, 20_000);
    expect([words < 600, isBroken]).toEqual([true, true]);
  });

  it("ends with a budget of money, of a team, and of the gateway", async () => {
    // 10 USD for a million.
    const money = await keys.make({ limits: [{ limitType: "cost", limit: 0.06 }] });
    expect((await whole(money.key, 20_000)).words).toBeLessThan(6300);
    const team = { id: "red", name: "Red", ...tokens(6000) };
    await gate.manage("/teams", { method: "POST", ...jsonInit(team) });
    const member = await keys.make({ team: "red" });
    expect((await whole(member.key, 20_000)).words).toBeLessThan(6300);
    const rule = { limit: 0.06, limitType: "cost", window: 3600 };
    await gate.create("spent", { authentication: true, spend_limits: { rules: [rule] } });
    await storeKeys(gate, "spent");
    const any = await keys.make();
    const path = "spent/openai/v1/chat/completions";
    const { words, text } = await whole(any.key, 20_000, { path });
    expect(words).toBeLessThan(6300);
    expect(text).toContain("Spend limit reached");
  });

  it("goes on to its end where the budget has room for it, and gives back what it did not use", async () => {
    const { key, id } = await keys.make(tokens(100_000));
    expect(await whole(key, 10_000)).toMatchObject({ words: 10_000, isBroken: false });
    await expect.poll(async () => (await keys.used(id))[0]).toBeLessThan(10_100);
    expect((await keys.used(id))[0]).toBeGreaterThanOrEqual(10_000);
  });

  it("goes on where the limit is soft, and where the request bounds it", async () => {
    const soft = await keys.make(tokens(300, { soft: true }));
    expect(await whole(soft.key, 6000)).toMatchObject({ words: 6000, isBroken: false });
    // The provider counts less than what is seen passing.
    const exact = await keys.make(tokens(3100));
    const url = `data:image/png;base64,${"iVBORw0KGgo".repeat(1000)}`;
    const content = [{ type: "image_url", image_url: { url } }];
    const body = { ...streamed, max_tokens: 3000, messages: [{ role: "user", content }] };
    expect(await whole(exact.key, 6000, { body })).toMatchObject({ words: 6000, isBroken: false });
  });

  it("shares a budget with those beside it: together they use no more", async () => {
    const { key, id } = await keys.make(tokens(10_000));
    const begun = [await begin(key), await begin(key)];
    await Promise.all(begun.map(({ source }) => feed(source, 6000)));
    const all = await Promise.all(begun.map(({ reading }) => reading));
    expect(all.some(({ isBroken }) => isBroken)).toBe(true);
    await expect.poll(async () => (await keys.used(id))[0]).toBeLessThan(10_400);
  });

  it("ends in the format of its client", async () => {
    const { key } = await keys.make(tokens(1000));
    const body = { model: "openai/gpt-4o", messages: chat.messages, stream: true };
    const { text, isBroken } = await whole(key, 20_000, {
      path: "closed/compat/responses",
      body: { ...body, input: "hi" },
    });
    expect(isBroken).toBe(true);
    expect(text).toContain("Spend limit reached");
  });

  it("ends for all that share it", async () => {
    await gate.create("shared", { cache_ttl: 60, authentication: true });
    await storeKeys(gate, "shared");
    const { key, id } = await keys.make(tokens(6000));
    const path = "shared/openai/v1/chat/completions";
    const init = jsonInit(streamed, { authorization: `Bearer ${key}` });
    const [first, second] = [gate.send(path, init), gate.send(path, init)];
    await expect.poll(() => sources.length).toBe(1);
    const reading = Promise.all([first.then(read), second.then(read)]);
    await feed(sources[0]!, 20_000);
    for (const { words, isBroken } of await reading) {
      expect(isBroken).toBe(true);
      expect(words).toBeLessThan(6300);
    }
    await expect.poll(async () => (await keys.used(id))[0]).toBeLessThan(6300);
  });
});
