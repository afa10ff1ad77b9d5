import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { actorClient } from "../../../../core/actors/actor-client.ts";
import {
  spendActor,
  type SpendMethods,
} from "../../../../core/gateway/observe/spend/spend-actor.ts";
import {
  API_TOKEN,
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";
import { teams as teamsOf } from "../../../fakes/teams.ts";
import { storeKeys, virtualKeys } from "../../../fakes/virtual-keys.ts";

let gate: GatewayUnderTest;
let keys: ReturnType<typeof virtualKeys>;

beforeEach(async () => {
  gate = await gatewayUnderTest();
  keys = virtualKeys(gate);
  await teamsOf(gate).make({ id: "research" });
  await storeKeys(gate, "closed", ["openai"]);
  gate.transport.behave = () =>
    jsonReply({
      choices: [{ message: { role: "assistant", content: "hi" } }],
      usage: { prompt_tokens: 1000, completion_tokens: 100 },
    });
});
afterEach(() => gate.close());

async function ask(
  token: string,
  model = "gpt-4o",
  headers: Record<string, string> = {},
): Promise<void> {
  const init = { token, ...jsonInit({ ...chat, model }, headers) };
  await (await gate.send("closed/openai/v1/chat/completions", init)).text();
}

interface Report {
  readonly by: string[];
  readonly totals: Record<string, number>;
  readonly rows: Record<string, unknown>[];
  readonly complete: boolean;
}
const report = async (query: string): Promise<Report> =>
  (await gate.manage(`/spend?${query}`)).body.result;

/** The report once it has so many requests: they are counted behind the client's back. */
async function reportOf(query: string, requests: number): Promise<Report> {
  await expect.poll(async () => (await report(query)).totals["requests"]).toBe(requests);
  return report(query);
}

// 0.0025 + 0.001 USD of gpt-4o, a seventeenth of that of gpt-4o-mini.
const COST = 0.0035;

describe("GET …/spend", () => {
  it("tells who spent what, by team, key, model and tag", async () => {
    const ann = await keys.make({ team: "research", tags: ["a", "b"] });
    const bob = await keys.make({ tags: ["b"] });
    await ask(ann.key);
    await ask(ann.key, "gpt-4o-mini");
    await ask(bob.key);
    await ask(API_TOKEN);
    const byTeam = await reportOf("by=team", 4);
    expect(byTeam).toMatchObject({ by: ["team"], complete: true });
    expect(byTeam.totals).toMatchObject({
      requests: 4,
      errors: 0,
      tokens_in: 4000,
      tokens_out: 400,
    });
    expect(byTeam.rows.map(({ team, requests }) => [team, requests])).toEqual([
      ["", 2],
      ["research", 2],
    ]);
    const byKey = await report("by=key,model&gateway=closed");
    expect(byKey.rows).toHaveLength(4);
    expect(byKey.rows).toContainEqual({
      key: bob.id,
      model: "openai/gpt-4o",
      requests: 1,
      errors: 0,
      cached: 0,
      tokens_in: 1000,
      tokens_out: 100,
      cost: expect.closeTo(COST, 9),
    });
    const byTag = await report("by=tag&provider=openai");
    expect(Object.fromEntries(byTag.rows.map(({ tag, requests }) => [tag, requests]))).toEqual({
      "": 1,
      a: 2,
      b: 3,
    });
    expect((await report(`by=day&key=${ann.id}&model=openai/gpt-4o`)).totals["requests"]).toBe(1);
    expect((await report("team=research")).totals["requests"]).toBe(2);
    expect((await report("gateway=open")).rows).toEqual([]);
    const day = new Date().toISOString().slice(0, 10);
    expect((await report("by=day")).rows).toMatchObject([{ day, requests: 4 }]);
    expect((await report("until=2020-01-01&since=2019-12-01")).totals["requests"]).toBe(0);
  });

  it("counts a key by list prices, and without a log row; others as their rows", async () => {
    const { key } = await keys.make();
    const headers = { "cf-aig-custom-cost": '{"total_cost":0}', "cf-aig-collect-log": "false" };
    await ask(key, "gpt-4o", headers);
    expect((await reportOf("by=key", 1)).totals["cost"]).toBeCloseTo(COST, 9);
    await ask(API_TOKEN, "gpt-4o", { "cf-aig-collect-log": "false" });
    await ask(API_TOKEN, "gpt-4o", { "cf-aig-custom-cost": '{"total_cost":1}' });
    expect((await reportOf("by=key", 2)).totals["cost"]).toBeCloseTo(1 + COST, 9);
  });

  it("counts errors, and has no models that never answered", async () => {
    const { key } = await keys.make();
    gate.transport.behave = () => jsonReply({ error: { message: "no" } }, 404);
    await ask(key, "sk-invented-model");
    const { rows } = await reportOf("by=model", 1);
    expect(rows).toMatchObject([{ model: "openai/other", requests: 1, errors: 1, cost: 0 }]);
  });

  it("counts a batch once, however often it comes", async () => {
    const spend = actorClient<SpendMethods>(gate.platform.actors.get(spendActor.name, "acme"));
    const group = { gateway: "g", provider: "openai", model: "m", key: "", team: "", tags: "[]" };
    const sums = { requests: 1, errors: 0, cached: 0, tokens_in: 1, tokens_out: 1, cost: 1 };
    const day = new Date().toISOString().slice(0, 10);
    for (const sequence of [1, 1, 2, 2])
      await spend.add("s", sequence, [{ day, ...group, ...sums }]);
    expect((await report("by=gateway")).totals).toMatchObject({ requests: 2, cost: 2 });
  });

  it.each([
    ["by=teem", 'by: there is no column "teem": did you mean "team"?'],
    ["by=day,key,team,model", "by: expected up to 3 columns"],
    ["since=2024-01-01&until=2026-01-01", "since: expected at most 366 days"],
    ["since=2026-02-30", 'since: expected a day such as "2026-11-27"'],
    ["sinse=2026-01-01", "sinse"],
  ])("refuses %s", async (query, message) => {
    const { status, body } = await gate.manage(`/spend?${query}`);
    expect([status, body.errors[0]?.message]).toEqual([400, expect.stringContaining(message)]);
  });

  it("is for who may read the account's gateways", async () => {
    const headers = { authorization: "Bearer nobody" };
    expect((await gate.manageRaw("/spend", { headers })).status).toBe(401);
    expect(
      (await gate.manageRaw("/spend", { headers: { authorization: "Bearer read-only" } })).status,
    ).toBe(200);
  });
});
