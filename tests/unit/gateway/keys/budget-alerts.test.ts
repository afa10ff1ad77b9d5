import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ActorKind, Log } from "../../../../core/ports.ts";
import { OUTBOUND_KIND } from "../../../../core/entity/outbound.ts";
import {
  API_TOKEN,
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
  requiredSettings,
} from "../../../fakes/gateway-app.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";
import { teams as teamsOf } from "../../../fakes/teams.ts";
import { storeKeys, virtualKeys } from "../../../fakes/virtual-keys.ts";

let gate: GatewayUnderTest;
let keys: ReturnType<typeof virtualKeys>;
let teams: ReturnType<typeof teamsOf>;
let lines: { level: string; message: string; fields: Record<string, unknown> }[];
let sent: { account: string; type: string; payload: Record<string, unknown> }[];

/** Takes what is sent in place of the webhooks. */
const outbound: ActorKind = {
  name: OUTBOUND_KIND,
  schema: [],
  start: ({ name }) => ({
    methods: {
      send(message: never) {
        const { type, payload } = message as (typeof sent)[number];
        sent.push({ account: name, type, payload });
      },
    },
  }),
};

beforeEach(async () => {
  [lines, sent] = [[], []];
  const log: Log = (level, message, fields = {}) => void lines.push({ level, message, fields });
  gate = await gatewayUnderTest({ sendsWebhooks: true }, { log });
  gate.platform.actors.define(outbound);
  keys = virtualKeys(gate);
  teams = teamsOf(gate);
  await storeKeys(gate, "closed", ["openai"]);
});
afterEach(() => gate.close());

const gpt = { ...chat, model: "gpt-4o" };
/** Asks for an answer that uses so many tokens. */
async function use(token: string, tokens: number, body: object = gpt): Promise<number> {
  gate.transport.behave = () =>
    jsonReply({
      choices: [{ message: { role: "assistant", content: "hi" } }],
      usage: { prompt_tokens: 0, completion_tokens: tokens },
    });
  const init = { token, ...jsonInit({ max_tokens: 1, ...body }) };
  const response = await gate.send("closed/openai/v1/chat/completions", init);
  await response.text();
  return response.status;
}
/** Two that come close together are sent beside each other. */
const shares = () => sent.map(({ payload }) => Number(payload["share"])).toSorted((a, b) => a - b);
/** Waits until the shares that were sent are these: answers are entered behind the client's back. */
const told = async (wanted: readonly number[]): Promise<void> => {
  await expect.poll(shares).toEqual(wanted);
};

describe("a budget", () => {
  it("is told at 50, 80 and 100 %, once each, by a line and an event", async () => {
    const limits = [{ limitType: "tokens", limit: 1000, window: "day", soft: true }];
    await teams.make({ id: "research", limits });
    const { key } = await keys.make({ team: "research" });
    await use(key, 490);
    await use(key, 20);
    await told([50]);
    await use(key, 20);
    await use(key, 480);
    await told([50, 80, 100]);
    await use(key, 480);
    await expect.poll(() => teams.used("research")).toEqual([1490]);
    expect(sent).toHaveLength(3);
    expect(sent[1]).toEqual({
      account: "acme",
      type: "budget.reached",
      payload: {
        team: "research",
        share: 80,
        budget: 'the team "research" allows 1000 tokens per day',
        limitType: "tokens",
        limit: 1000,
        window: "day",
        resets_at: expect.stringMatching(/T00:00:00(?:\.000)?Z$/),
      },
    });
    expect(lines.filter(({ message }) => message.startsWith("A budget"))).toMatchObject([
      { level: "info", message: "A budget is used to 50 %" },
      { level: "warn", fields: { account: "acme", team: "research", share: 80 } },
      { level: "warn", fields: { share: 100 } },
    ]);
  });

  it("of requests is told as they come, and one of a key names it", async () => {
    const { key, id } = await keys.make({ limits: [{ limitType: "requests", limit: 4 }] });
    for (let at = 0; at < 5; at++) await use(key, 1);
    await told([50, 80, 100]);
    for (const { payload } of sent)
      expect(payload).toMatchObject({ key: id, resets_at: null, window: null });
  });

  it("does not count what is only set aside", async () => {
    await teams.make({ id: "research", limits: [{ limitType: "tokens", limit: 1000 }] });
    const { key } = await keys.make({ team: "research" });
    const gone = Promise.withResolvers<void>();
    gate.transport.behave = async () => {
      await gone.promise;
      return jsonReply({ choices: [], usage: { prompt_tokens: 0, completion_tokens: 400 } });
    };
    const init = { token: key, ...jsonInit({ ...gpt, max_tokens: 850 }) };
    const pending = gate.send("closed/openai/v1/chat/completions", init);
    await expect.poll(() => gate.transport.requests.length).toBe(1);
    await use(key, 100);
    const [aside = 0] = await teams.used("research");
    expect(aside).toBeGreaterThan(850);
    await expect.poll(async () => (await teams.used("research"))[0]).toBeGreaterThan(940);
    expect(sent).toEqual([]);
    gone.resolve();
    await (await pending).text();
    await told([50]);
  });

  it("of a gateway is told, too, with its partition", async () => {
    const rule = { id: "r", limit: 0.001, limitType: "cost", window: 3600 };
    const rules = [{ ...rule, metadata: { user: { mode: "partition" } } }];
    const init = { method: "PUT", ...jsonInit({ ...requiredSettings, spend_limits: { rules } }) };
    expect((await gate.manage("/gateways/closed", init)).status).toBe(200);
    const send = (user: string) =>
      gate.send("closed/openai/v1/chat/completions", {
        token: API_TOKEN,
        ...jsonInit({ ...gpt, max_tokens: 1 }, { "cf-aig-metadata": JSON.stringify({ user }) }),
      });
    gate.transport.behave = () =>
      jsonReply({ choices: [], usage: { prompt_tokens: 0, completion_tokens: 60 } });
    await (await send("ann")).text();
    await told([50]);
    expect(sent[0]?.payload).toMatchObject({
      gateway: "closed",
      partition: '[["user","ann"]]',
      budget: expect.stringContaining('The rule "r" allows 0.001 USD per 3600 s'),
    });
  });

  it("is told once by parallel requests", async () => {
    const limits = [{ limitType: "tokens", limit: 1000, window: 3600, technique: "sliding" }];
    await teams.make({ id: "research", limits });
    const { key } = await keys.make({ team: "research" });
    await Promise.all(Array.from({ length: 9 }, () => use(key, 100)));
    await told([50, 80]);
  });
});
