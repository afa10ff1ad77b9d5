import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Duplex, DuplexEnd, WebSockets } from "../../../../core/net/duplex.ts";
import type { System } from "../../../../core/ports.ts";
import { openPlatform } from "#platform";
import { type GatewayUnderTest, gatewayUnderTest } from "../../../fakes/gateway-app.ts";
import { storeKeys, virtualKeys } from "../../../fakes/virtual-keys.ts";

type Message = string | Uint8Array;

/** One end of a connection that a test holds. */
function heldEnd() {
  const queue: Message[] = [];
  const sent: Message[] = [];
  let wake: (() => void) | null = null;
  let end: DuplexEnd | null = null;
  const closed = Promise.withResolvers<DuplexEnd>();
  const close = (code = 1000, reason = ""): void => {
    end ??= { code, reason };
    closed.resolve(end);
    wake?.();
  };
  const duplex: Duplex = {
    protocol: "",
    closed: closed.promise,
    close,
    send(message) {
      if (end === null) sent.push(message);
      return Promise.resolve(end === null);
    },
    async receive() {
      while (queue.length === 0) {
        if (end !== null) return null;
        await new Promise<void>((resolve) => (wake = resolve));
      }
      return queue.shift() ?? null;
    },
  };
  return {
    duplex,
    sent,
    close,
    closed: closed.promise,
    say(message: object | Uint8Array) {
      queue.push(message instanceof Uint8Array ? message : JSON.stringify(message));
      wake?.();
    },
  };
}

let gate: GatewayUnderTest;
let keys: ReturnType<typeof virtualKeys>;
let ends: ReturnType<typeof heldEnd>[] = [];
let reviews: (() => void)[] = [];

beforeEach(async () => {
  ends = [];
  reviews = [];
  const made = () => {
    const end = heldEnd();
    ends.push(end);
    return end.duplex;
  };
  const webSockets: WebSockets = {
    accept: () => ({ duplex: made(), response: new Response("accepted") }),
    dial: () => Promise.resolve({ duplex: made() }),
  };
  const real = await openPlatform();
  // The wait between two looks at a connection's token ends when the test says so.
  const sleep: System["sleep"] = (ms, signal) =>
    ms === 10_000 ? new Promise((resolve) => reviews.push(resolve)) : real.system.sleep(ms, signal);
  const system: System = Object.assign(Object.create(real.system) as System, { sleep });
  await real.close();
  gate = await gatewayUnderTest({}, { webSockets, system });
  keys = virtualKeys(gate);
  await storeKeys(gate, "closed");
});
afterEach(async () => {
  for (const end of ends) end.close();
  await gate.close();
});

async function connect(token: string, address = "openai?model=gpt-realtime") {
  const init = { method: "GET", headers: { upgrade: "websocket" }, token };
  const { status } = await gate.send(`closed/${address}`, init);
  const [provider, client] = ends.slice(-2);
  if (status !== 200 || client === undefined || provider === undefined) return { status };
  return { status, client, provider };
}

async function opened(token: string, address?: string) {
  const { client, provider } = await connect(token, address);
  if (client === undefined || provider === undefined) throw new Error("Refused");
  return { client, provider };
}

/** The end of an answer of 2 USD. */
const dear = {
  type: "response.done",
  response: {
    usage: {
      input_tokens: 0,
      output_tokens: 31_250,
      output_token_details: { audio_tokens: 31_250 },
    },
  },
};
const cost = (limit: number) => ({ limits: [{ limitType: "cost", limit }] });
const reason = (text: string) => ({ code: 1008, reason: expect.stringContaining(text) as string });
const SETUP = "google?x=1";
const setup = (model: string) => ({ setup: { model: `models/${model}` } });

describe("a realtime connection with a virtual key", () => {
  it("ends with the answer that uses its limit up, and lets no second one in", async () => {
    const { key, id } = await keys.make(cost(0.5));
    const { client, provider } = await opened(key);
    for (let at = 0; at < 5; at++) {
      client.say({ type: "response.create" });
      provider.say({ type: "response.created" });
      provider.say(dear);
    }
    expect(await client.closed).toEqual(
      reason("Spend limit reached: the virtual key allows 0.5 USD"),
    );
    expect(await provider.closed).toMatchObject({ code: 1008 });
    await expect.poll(async () => (await keys.used(id))[0]).toBeLessThan(3);
    expect((await connect(key)).status).toBe(429);
  });

  it("sets something aside for each answer that runs beside others", async () => {
    const { key, id } = await keys.make({ limits: [{ limitType: "tokens", limit: 10_000 }] });
    const { client, provider } = await opened(key);
    for (let at = 0; at < 5; at++) client.say({ type: "response.create" });
    expect(await client.closed).toEqual(reason("Spend limit reached"));
    expect(provider.sent.length).toBeLessThanOrEqual(3);
    // What was under way is not known: it stays.
    await expect.poll(() => keys.used(id)).toEqual([10_000]);
  });

  it("gives back what no answer was begun for", async () => {
    const { key, id } = await keys.make({ limits: [{ limitType: "tokens", limit: 10_000 }] });
    const { client } = await opened(key);
    await expect.poll(() => keys.used(id)).toEqual([4097]);
    client.close();
    await expect.poll(() => keys.used(id)).toEqual([0]);
  });

  it.each<[string, (id: string) => Promise<unknown>, string]>([
    ["disabled", (id) => keys.change(id, { enabled: false }), "disabled"],
    ["expired", (id) => keys.change(id, { expires_at: "2001-01-01T00:00:00Z" }), "expired"],
    [
      "rotated",
      (id) => gate.manage(`/virtual-keys/${id}/rotate`, { method: "POST", body: "{}" }),
      "rotated",
    ],
    ["deleted", (id) => gate.manage(`/virtual-keys/${id}`, { method: "DELETE" }), "deleted"],
    [
      "for other models",
      (id) => keys.change(id, { models: ["openai/gpt-4o"] }),
      "not for the model",
    ],
  ])("ends when the key is %s", async (_, change, text) => {
    const { key, id } = await keys.make();
    const { client, provider } = await opened(key);
    await expect.poll(() => reviews.length).toBeGreaterThan(0);
    await change(id);
    for (const review of reviews) review();
    expect(await client.closed).toEqual(reason(text));
    expect(await provider.closed).toMatchObject({ code: 1008 });
  });

  it.each<[string, object]>([
    ["session.update", { type: "session.update", session: { model: "gpt-4o-realtime-preview" } }],
    [
      "response.create",
      { type: "response.create", response: { model: "gpt-4o-realtime-preview" } },
    ],
    ["a transcription", { session: { input_audio_transcription: { model: "whisper-1" } } }],
  ])("ends when %s names a model that the key is not for", async (_, message) => {
    const { key } = await keys.make({ models: ["openai/gpt-realtime"] });
    const { client, provider } = await opened(key);
    client.say({ type: "session.update", session: { model: "gpt-realtime" } });
    client.say(message);
    expect(await client.closed).toEqual(reason("not for the model"));
    expect(provider.sent).toHaveLength(1);
  });

  const other = '"session":{"model":"gpt-4o-realtime-preview"}';
  it.each<[string, string, string]>([
    ["behind white space", `${" ".repeat(100)}{${other}}`, "not for the model"],
    ["in another letter case", `{${other.replace("model", "Model")}}`, "not for the model"],
    ["in a member named twice", `{${other},"session":{}}`, "cannot be read"],
  ])("ends when a message names another model %s", async (_, message, why) => {
    const { key } = await keys.make({ models: ["openai/gpt-realtime"] });
    const { client, provider } = await opened(key);
    client.say(new TextEncoder().encode(message));
    expect(await client.closed).toEqual(reason(why));
    expect(provider.sent).toEqual([]);
  });

  it("names the model of Gemini Live in its first message, and not in the address", async () => {
    const { key } = await keys.make({ models: ["google-ai-studio/gemini-2.5-flash"] });
    const good = await opened(key, SETUP);
    good.client.say(setup("gemini-2.5-flash"));
    await expect.poll(() => good.provider.sent.length).toBe(1);
    const decoy = await opened(key, "google?model=gemini-2.5-flash");
    const bytes = new TextEncoder().encode(JSON.stringify(setup("gemini-2.5-pro")));
    decoy.client.say(bytes);
    expect(await decoy.client.closed).toEqual(reason("gemini-2.5-pro"));
    const silent = await opened(key, SETUP);
    silent.client.say({ realtimeInput: {} });
    expect(await silent.client.closed).toEqual(reason("first message"));
    expect([...decoy.provider.sent, ...silent.provider.sent]).toEqual([]);
  });

  it("settles each turn of Gemini Live, several reports of one turn once", async () => {
    const { key, id } = await keys.make({ limits: [{ limitType: "tokens", limit: 100_000 }] });
    const { client, provider } = await opened(key, SETUP);
    client.say(setup("gemini-2.5-flash"));
    const report = (tokens: number, serverContent: object) =>
      new TextEncoder().encode(
        JSON.stringify({
          serverContent,
          usageMetadata: {
            promptTokenCount: 10,
            responseTokenCount: tokens,
            totalTokenCount: 10 + tokens,
          },
        }),
      );
    await expect.poll(() => provider.sent.length).toBe(1);
    provider.say(report(5, { modelTurn: {} }));
    provider.say(report(20, { modelTurn: {} }));
    provider.say(report(30, { turnComplete: true }));
    provider.say(report(7, { modelTurn: {}, turnComplete: true }));
    await expect.poll(() => client.sent.length).toBe(4);
    client.close();
    await expect.poll(() => keys.used(id)).toEqual([57]);
  });
});
