import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import type { Platform } from "../../../../core/ports.ts";
import type { Authenticate } from "../../../../core/auth/authorize.ts";
import { REVIEW_MS } from "../../../../core/auth/while-permitted.ts";
import {
  API_TOKEN,
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { type FedStream, fedStream } from "../../../fakes/gateway-fed-stream.ts";
import { type ShownKey, storeKeys, virtualKeys } from "../../../fakes/virtual-keys.ts";
import { eventually } from "../../../cases/eventually.ts";

let real: Platform;
let gate: GatewayUnderTest;
let keys: ReturnType<typeof virtualKeys>;
let source: FedStream;

/** Whether an API token is still good. */
let isGood = true;
let number = 0;
const auth: Authenticate = (request) =>
  Promise.resolve(
    isGood && request.headers.get("authorization") === `Bearer ${API_TOKEN}`
      ? { id: "t", kind: "token", grants: [{ permissions: ["*"], accounts: ["acme"] }] }
      : null,
  );

beforeAll(async () => {
  real = await openPlatform();
  // The gateway's ten seconds between two reviews are a moment here.
  const sleep: Platform["system"]["sleep"] = (ms, signal) =>
    real.system.sleep(ms === REVIEW_MS ? 20 : ms, signal);
  gate = await gatewayUnderTest({ auth }, { system: { ...real.system, sleep } });
  keys = virtualKeys(gate);
  await storeKeys(gate, "closed");
});
beforeEach(() => {
  source = fedStream();
  number += 1;
  gate.transport.behave = (request) => source.answer(request);
});
afterAll(async () => {
  await gate.close();
  await real.close();
});

const streamed = { ...chat, model: "gpt-4o", stream: true };
const delta = (content: string): string =>
  `data: ${JSON.stringify({ object: "chat.completion.chunk", choices: [{ index: 0, delta: { content } }] })}\n\n`;

/** Begins a stream, and returns its first event and all that follows. */
async function begin(
  token: string,
  {
    path = "closed/openai/v1/chat/completions",
    body = streamed,
  }: { path?: string; body?: object } = {},
) {
  const headers = { authorization: `Bearer ${token}`, "cf-aig-event-id": `${number}` };
  const pending = gate.send(path, jsonInit(body, headers));
  source.send(delta("one"));
  const reader = (await pending).body?.getReader();
  const decoder = new TextDecoder();
  let text = decoder.decode((await reader?.read())?.value);
  const rest = (async (): Promise<{ text: string; isBroken: boolean }> => {
    try {
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
        if (done) return { text, isBroken: false };
        text += decoder.decode(value);
      }
    } catch {
      return { text, isBroken: true };
    }
  })();
  return { rest };
}

const errorOf = (message: string): string =>
  `\n\nevent: error\ndata: ${JSON.stringify({
    type: "error",
    error: { type: "authentication_error", code: 401, message: `Unauthorized: ${message}` },
  })}\n\n`;

const gone = "the virtual key is not known: it was deleted, rotated, or belongs to another account";
const ends: readonly (readonly [string, (key: ShownKey) => Promise<unknown>, string])[] = [
  ["disabled", ({ id }) => keys.change(id, { enabled: false }), "the virtual key is disabled"],
  ["deleted", ({ id }) => gate.manage(`/virtual-keys/${id}`, { method: "DELETE" }), gone],
  ["rotated", ({ id }) => gate.manage(`/virtual-keys/${id}/rotate`, { method: "POST" }), gone],
  [
    "expired",
    ({ id }) => keys.change(id, { expires_at: new Date(Date.now() - 1).toISOString() }),
    "the virtual key has expired",
  ],
  [
    "kept from the gateway",
    ({ id }) => keys.change(id, { gateways: ["other"] }),
    "the virtual key is not for this gateway",
  ],
];

describe("a stream of an API token", () => {
  it("ends when the token opens the gateway no longer", async () => {
    isGood = true;
    const { rest } = await begin(API_TOKEN, {
      path: "closed/compat/chat/completions",
      body: { ...streamed, model: "openai/gpt-4o" },
    });
    isGood = false;
    const { text, isBroken } = await rest;
    isGood = true;
    expect(isBroken).toBe(true);
    expect(text).toContain("the token does not open this gateway any longer");
  });
});

describe("a stream of a virtual key", () => {
  it.each(ends)(
    "ends when the key is %s, with its provider's, and says why",
    async (_, end, why) => {
      const key = await keys.make();
      const { rest } = await begin(key.key);
      await end(key);
      expect(await rest).toEqual({ text: delta("one") + errorOf(why), isBroken: true });
      await source.ended;
      const [row] = await gate.rowsOf("closed", `${number}`, 1);
      expect(row).toMatchObject({ success: false, note: `Unauthorized: ${why}` });
    },
  );

  it("ends when its team is disabled", async () => {
    await gate.manage("/teams", { method: "POST", ...jsonInit({ id: "red", name: "Red" }) });
    const key = await keys.make({ team: "red" });
    const { rest } = await begin(key.key);
    await gate.manage("/teams/red", { method: "PATCH", ...jsonInit({ enabled: false }) });
    expect((await rest).text).toContain("the team of the virtual key is disabled");
  });

  it("counts what has passed of it", async () => {
    const limits = [{ limitType: "tokens", limit: 100_000 }];
    const key = await keys.make({ limits });
    const { rest } = await begin(key.key);
    source.send(delta("word ".repeat(500)));
    await keys.change(key.id, { enabled: false });
    await rest;
    await eventually(async () => (await keys.used(key.id))[0]! < 4000, "it is settled");
    expect((await keys.used(key.id))[0]).toBeGreaterThan(400);
  });

  it("goes on while the key is good, and reads no more of it then", async () => {
    const key = await keys.make();
    const other = await keys.make();
    const { rest } = await begin(key.key);
    await keys.change(other.id, { enabled: false });
    await real.system.sleep(100);
    source.send(delta("two"));
    source.close();
    expect(await rest).toEqual({ text: delta("one") + delta("two"), isBroken: false });
    await keys.change(key.id, { enabled: false });
    const [row] = await gate.rowsOf("closed", `${number}`, 1);
    expect(row).toMatchObject({ success: true });
  });

  it("ends in the format of its client", async () => {
    const key = await keys.make();
    const body = { model: "openai/gpt-4o", max_tokens: 9, messages: chat.messages, stream: true };
    const { rest } = await begin(key.key, { path: "closed/compat/messages", body });
    await keys.change(key.id, { enabled: false });
    const { text, isBroken } = await rest;
    expect(isBroken).toBe(true);
    expect(text).toContain(
      'event: error\ndata: {"type":"error","error":{"type":"authentication_error","message":"Unauthorized: the virtual key is disabled"}}',
    );
  });

  it("ends alone where its answer is shared, and the others have the whole of it", async () => {
    await gate.create("shared", { cache_ttl: 60, share_answers: true, authentication: true });
    await storeKeys(gate, "shared");
    const [leader, follower] = [await keys.make(), await keys.make()];
    const path = "shared/openai/v1/chat/completions";
    const first = await begin(leader.key, { path });
    const second = gate.send(path, jsonInit(streamed, { authorization: `Bearer ${follower.key}` }));
    const followed = (await second).text();
    await keys.change(leader.id, { enabled: false });
    expect((await first.rest).text).toContain("the virtual key is disabled");
    source.send(delta("two"));
    source.close();
    expect(await followed).toBe(delta("one") + delta("two"));
  });

  it("breaks off without a word where no event of ours could be read", async () => {
    gate.transport.behave = (request) => source.answer(request, "application/octet-stream");
    const key = await keys.make();
    const { rest } = await begin(key.key);
    await keys.change(key.id, { enabled: false });
    expect(await rest).toEqual({ text: delta("one"), isBroken: true });
  });

  it("ends a stream of JSON lines in a line", async () => {
    gate.transport.behave = (request) => source.answer(request, "application/x-ndjson");
    const key = await keys.make();
    const { rest } = await begin(key.key);
    await keys.change(key.id, { enabled: false });
    const line = '\n{"error":"Unauthorized: the virtual key is disabled"}\n';
    expect(await rest).toEqual({ text: delta("one") + line, isBroken: true });
  });
});
