import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";
import { storeKeys, virtualKeys } from "../../../fakes/virtual-keys.ts";

let gate: GatewayUnderTest;
let keys: ReturnType<typeof virtualKeys>;

beforeEach(async () => {
  gate = await gatewayUnderTest();
  keys = virtualKeys(gate);
  await storeKeys(gate, "closed", ["openai", "anthropic", "google-ai-studio", "azure-openai"]);
});
afterEach(() => gate.close());

const gpt = { ...chat, model: "gpt-4o" };
const PATH = "closed/openai/v1/chat/completions";
const ask = (
  token: string,
  body: object = gpt,
  headers: Record<string, string> = {},
  path = PATH,
) => gate.send(path, { token, ...jsonInit(body, headers) });
const answer = (tokensOut: number) => ({
  choices: [{ message: { role: "assistant", content: "hi" } }],
  usage: { prompt_tokens: 20, completion_tokens: tokensOut },
});
const tokens = (limit: number) => ({ limits: [{ limitType: "tokens", limit }] });
const cost = (limit: number) => ({ limits: [{ limitType: "cost", limit }] });
/** What a key has used, once it is what is expected: answers are entered behind the client's back. */
const used = async (id: string, wanted: readonly number[]): Promise<void> => {
  await expect.poll(() => keys.used(id)).toEqual(wanted);
};

const FILE = "iVBORw0KGgo".repeat(4000);
const sent = (part: object): object => ({
  model: "gpt-4o",
  max_tokens: 10,
  messages: [{ role: "user", content: [part] }],
});

/** Holds every answer back until it is let go. */
function held(reply: (index: number) => object) {
  const gone = Promise.withResolvers<void>();
  gate.transport.behave = async (_, index) => {
    await gone.promise;
    return jsonReply(reply(index));
  };
  return gone;
}

describe("parallel requests of a virtual key", () => {
  it.each([
    ["tokens", tokens(1000), 1000],
    ["cost", cost(0.01), 0.01],
  ])("never use more %s than its limit by outputs that they bound", async (_, limits, most) => {
    const { key, id } = await keys.make(limits);
    const gone = held(() => answer(200));
    const pending = Array.from({ length: 20 }, () => ask(key, { ...gpt, max_tokens: 200 }));
    const refused = await Promise.race(pending);
    expect([refused.status, await refused.text()]).toEqual([
      429,
      expect.stringMatching(/are left, and this request may use .*max_tokens/),
    ]);
    gone.resolve();
    const statuses = (await Promise.all(pending)).map(({ status }) => status);
    // 220 tokens each; 0.00205 USD each.
    expect(statuses.filter((status) => status === 200)).toHaveLength(4);
    await expect.poll(async () => (await keys.used(id))[0]).toBeLessThanOrEqual(most);
  });

  it("each have something set aside where they bound nothing, and the last takes what is left", async () => {
    const { key, id } = await keys.make(tokens(10_000));
    const gone = held(() => answer(10));
    const pending = Array.from({ length: 5 }, () => ask(key));
    await expect.poll(() => gate.transport.requests.length).toBe(3);
    await used(id, [10_000]);
    gone.resolve();
    const statuses = (await Promise.all(pending)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(3);
    await used(id, [90]);
  });

  it("are not refused one after the other, however small the budget", async () => {
    const { key, id } = await keys.make(cost(0.001));
    gate.transport.behave = () => jsonReply(answer(10));
    for (let at = 0; at < 5; at++) expect((await ask(key)).status).toBe(200);
    await used(id, [0.00075]);
  });
});

describe("a request", () => {
  it.each<[string, object]>([
    [PATH, { ...gpt, max_completion_tokens: 5000 }],
    [PATH, { ...gpt, max_tokens: 1, max_completion_tokens: 5000 }],
    [PATH, { ...gpt, max_tokens: 600, n: 10 }],
    ["closed/openai/v1/responses", { model: "gpt-4o", input: "hi", max_output_tokens: 5000 }],
    [
      "closed/openai/v1/completions",
      { model: "gpt-4o", prompt: ["a", "b", "c"], max_tokens: 2000 },
    ],
    ["closed/anthropic/v1/messages", { ...chat, model: "claude-x", max_tokens: 5000 }],
    [
      "closed/google-ai-studio/v1beta/models/gemini-2.5-flash:generateContent",
      { contents: [], generationConfig: { maxOutputTokens: 2500, candidateCount: 2 } },
    ],
  ])("to %s sets aside what its body bounds: %o", async (path, body) => {
    const { key } = await keys.make(tokens(4999));
    expect((await ask(key, body, {}, path)).status).toBe(429);
    expect(gate.transport.requests).toHaveLength(0);
  });

  it.each<[string, object]>([
    ["in a place that its provider does not read", { ...gpt, metadata: { max_tokens: 1 } }],
    ["by a name of another format", { ...gpt, generationConfig: { maxOutputTokens: 1 } }],
    ["inside of a text", { ...gpt, user: '"max_tokens": 1' }],
    ["with a number that is none", { ...gpt, max_tokens: -1 }],
  ])("bounds nothing %s", async (_, body) => {
    const { key } = await keys.make(tokens(4000));
    const gone = held(() => answer(1));
    const first = ask(key, body);
    await expect.poll(() => gate.transport.requests.length).toBe(1);
    expect((await ask(key)).status).toBe(429);
    gone.resolve();
    expect((await first).status).toBe(200);
  });

  it.each(["5000", "5e3", "0.5E+4"])(
    "that names its bound twice sets the higher one aside: %s",
    async (first) => {
      const { key } = await keys.make(tokens(4999));
      const body = `{"model":"gpt-4o","max_tokens":${first},"messages":[],"max_tokens":1}`;
      const init = { body, headers: { "content-type": "application/json" }, token: key };
      expect((await gate.send(PATH, init)).status).toBe(429);
    },
  );

  it.each<[string, object]>([
    [PATH, sent({ type: "image_url", image_url: { url: `data:image/png;base64,${FILE}` } })],
    ["closed/anthropic/v1/messages", sent({ source: { type: "base64", data: FILE } })],
    [
      "closed/google-ai-studio/v1beta/models/gemini-2.5-flash:generateContent",
      { contents: [{ parts: [{ inlineData: { mimeType: "image/png", data: FILE } }] }] },
    ],
  ])("with a file to %s needs no more than its text of a limit", async (path, body) => {
    const { key } = await keys.make(tokens(1000));
    const gone = held(() => answer(1));
    const first = ask(key, body, {}, path);
    await expect.poll(() => gate.transport.requests.length).toBe(1);
    // Its size is set aside all the same, as far as it is left.
    expect((await ask(key)).status).toBe(429);
    gone.resolve();
    expect((await first).status).toBe(200);
  });

  it("needs what a long text may use, which is no file", async () => {
    const { key } = await keys.make(tokens(1000));
    const long = sent({ type: "text", text: `base64 ${"word ".repeat(4000)}` });
    expect((await ask(key, long)).status).toBe(429);
  });

  it("with a prompt in tokens asks for one answer, and with several prompts for one each", async () => {
    const { key } = await keys.make(tokens(1000));
    const path = "closed/openai/v1/completions";
    const prompted = async (prompt: unknown): Promise<number> =>
      (await ask(key, { model: "gpt-4o", prompt, max_tokens: 400 }, {}, path)).status;
    gate.transport.behave = () => jsonReply(answer(1));
    expect(await prompted([11, 12, 13, 14])).toBe(200);
    expect(await prompted([[11, 12], [13], [14]])).toBe(429);
  });

  it("whose attempt is given up takes another leave for the next one", async () => {
    const { key, id } = await keys.make(tokens(1000));
    gate.transport.behave = () => new Promise(() => undefined);
    const impatient = { "cf-aig-request-timeout": "20", "cf-aig-max-attempts": "5" };
    const late = await ask(
      key,
      { ...gpt, max_tokens: 300 },
      { ...impatient, "cf-aig-retry-delay": "1" },
    );
    // Three attempts fit; the provider may have worked for each.
    expect([late.status, gate.transport.requests.length]).toEqual([429, 3]);
    expect((await keys.used(id))[0]).toBeGreaterThan(900);
  });

  it("gives everything back when its provider fails", async () => {
    const { key, id } = await keys.make(tokens(1000));
    gate.transport.behave = () => jsonReply({ error: {} }, 500);
    await (await ask(key, { ...gpt, max_tokens: 300 })).text();
    await used(id, [0]);
  });
});

describe("an answer without usage", () => {
  const said = (text: string): string =>
    `data: ${JSON.stringify({ choices: [{ delta: { content: text } }] })}\n\n`;
  const words = Array.from({ length: 500 }, () => said("word"));
  const body = { ...gpt, stream: true };
  const input = Math.floor(JSON.stringify(body).length / 4);

  it("counts the same read to its end and left behind its last word", async () => {
    const counts: number[] = [];
    for (const ending of ["end", "hang"] as const) {
      const { key, id } = await keys.make(tokens(100_000));
      gate.transport.behave = () => streamReply(words, { ending });
      const response = await ask(key, body);
      const reader = response.body!.getReader();
      for (let length = 0; length < words.join("").length;)
        length += (await reader.read()).value?.length ?? 0;
      if (ending === "end") while (!(await reader.read()).done);
      else await reader.cancel();
      await used(id, [500 + input]);
      counts.push((await keys.used(id))[0] ?? 0);
    }
    expect(counts).toEqual([500 + input, 500 + input]);
  });

  it("counts by its length where its format is not known", async () => {
    const { key, id } = await keys.make(tokens(100_000));
    gate.transport.behave = () => jsonReply({ odd: "x".repeat(4000) });
    await (await ask(key)).text();
    const length = JSON.stringify({ odd: "x".repeat(4000) }).length;
    await used(id, [Math.ceil(length / 4) + Math.floor(JSON.stringify(gpt).length / 4)]);
  });

  it("keeps what was set aside where it cannot be counted at all", async () => {
    const { key, id } = await keys.make(tokens(100_000));
    gate.transport.behave = () => ({
      status: 200,
      headers: [["content-type", "audio/mpeg"]],
      body: new Uint8Array(2000),
    });
    await (
      await ask(key, { model: "tts", input: "hi" }, {}, "closed/openai/v1/audio/speech")
    ).text();
    await used(id, [4096 + Math.floor(JSON.stringify({ model: "tts", input: "hi" }).length / 4)]);
  });

  it.each([
    ["closed/azure-openai/r/d/chat/completions?api-version=2024-02-01", { ...gpt, stream: true }],
    ["closed/openai/v1/responses", { model: "gpt-4o", input: "hi", background: true }],
  ])("is refused beforehand at %s, unless the key says otherwise", async (path, given) => {
    const { key, id } = await keys.make(tokens(100_000));
    const refused = await ask(key, given, {}, path);
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringMatching(/limits tokens, but .*on_unknown/),
    ]);
    await keys.change(id, { on_unknown: "allow" });
    expect((await ask(key, given, {}, path)).status).toBe(200);
  });
});
