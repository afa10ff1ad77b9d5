import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  API_TOKEN,
  chat,
  GATEWAY_TOKEN,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { fedStream } from "../../../fakes/gateway-fed-stream.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";
import { storeKeys, virtualKeys } from "../../../fakes/virtual-keys.ts";
import { resumableStreams } from "../../../../core/gateway/resume/mod.ts";
import { semanticCache } from "../../../../core/gateway/semantic-cache/mod.ts";

const SECOND_TOKEN = "second-token-for-tests";
let gate: GatewayUnderTest;
let keys: ReturnType<typeof virtualKeys>;

beforeEach(async () => {
  gate = await gatewayUnderTest({
    resume: resumableStreams(),
    semanticCache: semanticCache({ embed: async (texts) => texts.map(() => [1, 0]) }),
    gateways: { closed: { tokens: [GATEWAY_TOKEN, SECOND_TOKEN] } },
  });
  keys = virtualKeys(gate);
  await storeKeys(gate, "closed");
  gate.transport.behave = (_, index) => jsonReply({ answer: index });
});
afterEach(() => gate.close());

const TTL = { "cf-aig-cache-ttl": "60" };
const BY_KEY = { ...TTL, "cf-aig-cache-key": "greeting" };
const big = { ...chat, model: "gpt-4o" };
const small = { ...chat, model: "gpt-4o-mini" };

async function ask(token: string, body: object = big, headers: Record<string, string> = TTL) {
  const path = "closed/openai/v1/chat/completions";
  const response = await gate.send(path, { token, ...jsonInit(body, headers) });
  return [response.headers.get("cf-aig-cache-status"), await response.text()];
}

/** Two callers of each kind that has a name or a token of its own. */
const pairs: readonly (readonly [string, () => Promise<readonly [string, string]>])[] = [
  ["virtual keys", async () => [(await keys.make()).key, (await keys.make()).key]],
  ["a virtual key and an API token", async () => [(await keys.make()).key, API_TOKEN]],
  ["gateway tokens", () => Promise.resolve([GATEWAY_TOKEN, SECOND_TOKEN])],
];

describe.each(pairs)("two %s whom the operator's provider key serves", (_, two) => {
  it("have no kept answer in common, by the same request or the same cache key", async () => {
    const [a, b] = await two();
    for (const headers of [TTL, BY_KEY]) {
      const first = await ask(a, big, headers);
      expect(first[0]).toBe("MISS");
      const second = await ask(b, big, headers);
      expect([second[0], second[1] === first[1]]).toEqual(["MISS", false]);
      // Each finds its own.
      expect(await ask(a, big, headers)).toEqual(["HIT", first[1]]);
      expect(await ask(b, big, headers)).toEqual(["HIT", second[1]]);
    }
  });

  it("have no question in other words in common", async () => {
    const [a, b] = await two();
    const said = (content: string) => ({ ...big, messages: [{ role: "user", content }] });
    const first = await ask(a, said("how do i reset it"));
    expect((await ask(b, said("the way to reset it")))[0]).toBe("MISS");
    expect(await ask(a, said("please reset it for me"))).toEqual(["HIT", first[1]]);
  });

  it("do not wait for each other's answer", async () => {
    const [a, b] = await two();
    const goOn = Promise.withResolvers<void>();
    gate.transport.behave = async (_request, index) => {
      await goOn.promise;
      return jsonReply({ answer: index });
    };
    const pending = [ask(a), ask(b), ask(a)];
    await expect.poll(() => gate.transport.requests.length).toBe(2);
    goOn.resolve();
    const answers = await Promise.all(pending);
    expect(answers.filter(([status]) => status === "HIT")).toHaveLength(1);
    expect(answers[0]?.[1]).toBe(answers[2]?.[1]);
    expect(answers[0]?.[1]).not.toBe(answers[1]?.[1]);
  });

  it("cannot take up each other's stream", async () => {
    const [a, b] = await two();
    const source = fedStream();
    gate.transport.behave = (request) => source.answer(request);
    const pending = gate.send("closed/openai/v1/chat/completions", {
      token: a,
      ...jsonInit({ ...big, stream: true }),
    });
    source.send("data: 1\n\n");
    const response = await pending;
    source.close();
    await response.text();
    const runId = response.headers.get("cf-aig-run-id") ?? "";
    const resume = (token: string) =>
      gate.manageRaw(`/gateways/closed/run/${runId}/resume?from=0`, {
        headers: { authorization: `Bearer ${token}` },
      });
    expect((await resume(b)).status).toBe(404);
    const own = await resume(a);
    expect([own.status, await own.text()]).toEqual([200, "data: 1\n\n"]);
    expect((await resume("not-a-token-of-anybody")).status).toBe(401);
  });

  it("share all of that where the gateway says so", async () => {
    const shown = await gate.manage("/gateways/closed", {
      method: "PUT",
      ...jsonInit({
        cache_invalidate_on_update: false,
        cache_ttl: 0,
        collect_logs: true,
        rate_limiting_interval: null,
        rate_limiting_limit: null,
        share_answers: true,
      }),
    });
    expect(shown.body.result).toMatchObject({ share_answers: true });
    const [a, b] = await two();
    for (const headers of [TTL, BY_KEY]) {
      const first = await ask(a, big, headers);
      expect(await ask(b, big, headers)).toEqual(["HIT", first[1]]);
    }
  });
});

describe("kept answers", () => {
  it("are shared by callers who bring the same key of the provider", async () => {
    const own = { ...BY_KEY, authorization: "Bearer sk-of-the-callers" };
    const first = await ask(GATEWAY_TOKEN, big, own);
    expect(await ask(SECOND_TOKEN, big, own)).toEqual(["HIT", first[1]]);
    expect((await ask(SECOND_TOKEN, big, BY_KEY))[0]).toBe("MISS");
  });

  it("of a model that a virtual key may not use are out of its reach, shared or its own", async () => {
    await gate.create("shared", { authentication: true, share_answers: true });
    await storeKeys(gate, "shared");
    const models = ["openai/gpt-4o-mini"];
    const { key, id } = await keys.make({ models: ["openai/gpt-4o", ...models] });
    const by = async (token: string, body: object, gateway: string) => {
      const path = `${gateway}/openai/v1/chat/completions`;
      const response = await gate.send(path, { token, ...jsonInit(body, BY_KEY) });
      return [response.headers.get("cf-aig-cache-status"), await response.text()];
    };
    const large = await by(key, big, "closed");
    await by(API_TOKEN, big, "shared");
    await keys.change(id, { models });
    for (const gateway of ["closed", "shared"]) {
      const found = await by(key, small, gateway);
      expect([found[0], found[1] === large[1]]).toEqual(["MISS", false]);
      expect((await by(key, small, gateway))[0]).toBe("HIT");
    }
  });

  it("take a setting that says whether, and nothing else", async () => {
    const settings = { share_answers: "gateway" };
    await expect(gate.create("wrong", settings)).rejects.toThrow(/share_answers/);
  });
});
