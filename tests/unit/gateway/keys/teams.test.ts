import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
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
let teams: ReturnType<typeof teamsOf>;

beforeEach(async () => {
  gate = await gatewayUnderTest();
  keys = virtualKeys(gate);
  teams = teamsOf(gate);
  await storeKeys(gate, "closed", ["openai"]);
  gate.transport.behave = () => jsonReply(answer(50));
});
afterEach(() => gate.close());

const gpt = { ...chat, model: "gpt-4o" };
const mini = { ...chat, model: "gpt-4o-mini" };
const answer = (tokensOut: number) => ({
  choices: [{ message: { role: "assistant", content: "hi" } }],
  usage: { prompt_tokens: 100, completion_tokens: tokensOut },
});
const ask = (token: string, body: object = gpt) =>
  gate.send("closed/openai/v1/chat/completions", { token, ...jsonInit(body) });
/** The status and the text of an answer that has been read to its end. */
const outcome = async (response: Response): Promise<[number, string]> => [
  response.status,
  await response.text(),
];
/** What a team has used, once it is what is expected: answers are entered behind the client's back. */
const used = async (id: string, wanted: readonly number[]): Promise<void> => {
  await expect.poll(() => teams.used(id)).toEqual(wanted);
};

describe("the teams of an account", () => {
  it("are its own: another has neither them nor their spend", async () => {
    await gate.close();
    const grants = [{ permissions: ["*" as const], accounts: ["*"] }];
    gate = await gatewayUnderTest({
      auth: () => Promise.resolve({ id: "t", kind: "token", grants }),
    });
    await teamsOf(gate).make({ id: "research" });
    const other = (path: string, init?: RequestInit) => gate.manage(path, init, "zeta");
    expect((await other("/teams")).body.result).toEqual([]);
    expect((await other("/teams/research")).status).toBe(404);
    expect((await other("/teams/research", { method: "DELETE" })).status).toBe(404);
    const key = { name: "k", team: "research" };
    const refused = await other("/virtual-keys", { method: "POST", ...jsonInit(key) });
    expect(refused.status).toBe(400);
    expect((await teamsOf(gate).show("research")).id).toBe("research");
  });

  it("are a thousand at most", async () => {
    const add = (id: number) =>
      gate.manage("/teams", { method: "POST", ...jsonInit({ id: `t${id}` }) });
    for (let id = 0; id < 1000; id += 50) {
      const made = await Promise.all(Array.from({ length: 50 }, (_, n) => add(id + n)));
      expect(new Set(made.map(({ status }) => status))).toEqual(new Set([200]));
    }
    const last = await add(1000);
    expect([last.status, last.body.errors[0]?.message]).toEqual([
      409,
      expect.stringContaining("The limit of 1000 teams is reached"),
    ]);
  });
});

describe("the budget of a team", () => {
  it("counts all of its keys together, and names itself when it refuses", async () => {
    await teams.make({
      id: "research",
      limits: [{ limitType: "tokens", limit: 200, window: "day" }],
    });
    const [ann, bob] = [
      await keys.make({ team: "research" }),
      await keys.make({ team: "research" }),
    ];
    const other = await keys.make();
    expect((await outcome(await ask(ann.key)))[0]).toBe(200);
    await used("research", [150]);
    expect((await outcome(await ask(bob.key, { ...gpt, max_tokens: 20 })))[0]).toBe(200);
    await used("research", [300]);
    const refused = await ask(ann.key);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await outcome(refused)).toEqual([
      429,
      expect.stringContaining('the team \\"research\\" allows 200 tokens per day'),
    ]);
    expect((await outcome(await ask(other.key)))[0]).toBe(200);
    expect((await teams.show("research")).keys).toBe(2);
  });

  it("is kept exactly by parallel requests of its keys", async () => {
    await teams.make({ id: "research", limits: [{ limitType: "cost", limit: 0.01 }] });
    const made = await Promise.all([1, 2, 3, 4].map(() => keys.make({ team: "research" })));
    const gone = Promise.withResolvers<void>();
    gate.transport.behave = async () => {
      await gone.promise;
      return jsonReply(answer(200));
    };
    const pending = made.flatMap(({ key }) =>
      Array.from({ length: 5 }, () => ask(key, { ...gpt, max_tokens: 200 })),
    );
    expect((await Promise.race(pending)).status).toBe(429);
    gone.resolve();
    const statuses = (await Promise.all(pending)).map(({ status }) => status);
    // 0.00225 USD each.
    expect(statuses.filter((status) => status === 200)).toHaveLength(4);
    await expect.poll(async () => (await teams.used("research"))[0]).toBeLessThanOrEqual(0.01);
  });

  it("counts requests", async () => {
    await teams.make({
      id: "research",
      limits: [{ limitType: "requests", limit: 3, window: "week" }],
    });
    const { key } = await keys.make({ team: "research" });
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(key)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
    const refused = answers.find(({ status }) => status === 429);
    expect(await refused?.text()).toContain('the team \\"research\\" allows 3 requests per week');
  });

  it("can be for some models", async () => {
    const limits = [
      { limitType: "tokens", limit: 100, window: "month", models: ["OpenAI/GPT-4o"] },
    ];
    await teams.make({ id: "research", limits });
    const { key } = await keys.make({ team: "research" });
    await outcome(await ask(key, mini));
    await outcome(await ask(key, { ...gpt, max_tokens: 10 }));
    await used("research", [150]);
    expect(await outcome(await ask(key))).toEqual([
      429,
      expect.stringContaining("100 tokens per month for openai/gpt-4o"),
    ]);
    expect((await outcome(await ask(key, mini)))[0]).toBe(200);
    // A body in which no model can be read could be for any.
    expect((await outcome(await ask(key, { messages: [] })))[0]).toBe(429);
  });

  it("holds beside the key's own, and nothing is counted where one refuses", async () => {
    await teams.make({ id: "research", limits: [{ limitType: "tokens", limit: 10_000 }] });
    const own = { team: "research", limits: [{ limitType: "tokens", limit: 50 }] };
    const { key, id } = await keys.make(own);
    expect(await outcome(await ask(key, { ...gpt, max_tokens: 100 }))).toEqual([
      429,
      expect.stringContaining("the virtual key allows 50 tokens"),
    ]);
    await used("research", [0]);
    expect(await keys.used(id)).toEqual([0]);
  });

  it("lets pass where it is soft, and counts on", async () => {
    await teams.make({
      id: "research",
      limits: [{ limitType: "tokens", limit: 100, soft: true }],
    });
    const { key } = await keys.make({ team: "research" });
    for (let at = 1; at <= 3; at++) {
      expect((await outcome(await ask(key)))[0]).toBe(200);
      await used("research", [150 * at]);
    }
  });

  it("refuses what it could not count, unless the team says otherwise", async () => {
    await teams.make({ id: "research", limits: [{ limitType: "cost", limit: 1 }] });
    const { key } = await keys.make({ team: "research" });
    const strange = { ...chat, model: "a-model-of-no-price" };
    expect(await outcome(await ask(key, strange))).toEqual([
      400,
      expect.stringMatching(/The team \\"research\\" limits cost, but .*on the team/),
    ]);
    await teams.change("research", { on_unknown: "allow" });
    expect((await outcome(await ask(key, strange)))[0]).toBe(200);
  });

  it("knows a price that was set before the first request to its gateway", async () => {
    const body = { provider: "echo", model: "own", input: 1, output: 1, source: "a test" };
    await gate.manage("/prices", { method: "PUT", ...jsonInit(body) });
    await teams.make({ id: "research", limits: [{ limitType: "cost", limit: 1 }] });
    const { key } = await keys.make({ team: "research" });
    const init = { token: key, ...jsonInit({ ...chat, model: "own" }) };
    expect((await gate.send("default/echo/chat/completions", init)).status).toBe(200);
  });

  it("follows the calendar", async () => {
    const limits = ["day", "week", "month"].map((window) => ({
      limitType: "requests",
      limit: 5,
      window,
    }));
    await teams.make({ id: "research", limits });
    const { key } = await keys.make({ team: "research" });
    await outcome(await ask(key));
    const { usage } = (await gate.manage("/teams/research")).body.result as {
      usage: { window: string; resets_at: string }[];
    };
    const ends = usage.map(({ resets_at: at }) => new Date(at));
    expect(ends.map((end) => end.toISOString().slice(10))).toEqual(
      Array.from({ length: 3 }, () => "T00:00:00Z".replace("Z", ".000Z")),
    );
    expect([ends[1]?.getUTCDay(), ends[2]?.getUTCDate()]).toEqual([1, 1]);
  });
});

describe("a team", () => {
  it("is switched off with all its keys", async () => {
    await teams.make({ id: "research" });
    const { key } = await keys.make({ team: "research" });
    await teams.change("research", { enabled: false });
    expect(await outcome(await ask(key))).toEqual([
      401,
      expect.stringContaining("the team of the virtual key is disabled"),
    ]);
  });

  it("is shown, listed, changed and deleted once no key names it", async () => {
    await teams.make({ id: "research" });
    await teams.make({ id: "sales" });
    const { id } = await keys.make({ team: "research" });
    const list = await gate.manage("/teams?search=SAL");
    expect(list.body.result_info).toMatchObject({ total_count: 1 });
    expect(list.body.result).toMatchObject([{ id: "sales", name: "sales", keys: 0, limits: [] }]);
    expect((await gate.manage("/virtual-keys?team=research")).body.result).toMatchObject([{ id }]);
    expect((await gate.manage("/virtual-keys?team=sales")).body.result).toEqual([]);
    const remove = () => gate.manage("/teams/research", { method: "DELETE" });
    expect(await remove()).toMatchObject({ status: 409 });
    await keys.change(id, { team: null });
    expect(await remove()).toMatchObject({ status: 200, body: { result: { id: "research" } } });
    expect((await gate.manage("/teams/research")).status).toBe(404);
  });

  it("that is deleted and made again has used nothing", async () => {
    const settings = { id: "research", limits: [{ limitType: "requests", limit: 1 }] };
    await teams.make(settings);
    const { key, id } = await keys.make({ team: "research" });
    expect((await ask(key)).status).toBe(200);
    await keys.change(id, { team: null });
    await gate.manage("/teams/research", { method: "DELETE" });
    await teams.make(settings);
    await keys.change(id, { team: "research" });
    expect((await ask(key)).status).toBe(200);
  });

  it.each([
    [{ id: "Research" }, "id: expected the id of a team"],
    [{ id: "a", limts: [] }, 'did you mean "limits"'],
    [
      { id: "a", limits: [{ limitType: "requests", limit: 1, models: ["openai/*"] }] },
      "takes no models",
    ],
    [{ id: "a", limits: [{ limitType: "cost", limit: 1, window: "year" }] }, 'expected "day"'],
    [
      { id: "a", limits: [{ limitType: "cost", limit: 1, window: "day", technique: "sliding" }] },
      "takes its window in seconds",
    ],
    [
      {
        id: "a",
        limits: [
          { limitType: "cost", limit: 1, models: ["openai/a", "openai/b"] },
          { limitType: "cost", limit: 2, models: ["openai/b", "openai/a"] },
        ],
      },
      "expected one limit for each",
    ],
  ])("is refused that cannot be meant: %o", async (settings, message) => {
    const init = { method: "POST", ...jsonInit(settings) };
    const { status, body } = await gate.manage("/teams", init);
    expect([status, body.errors[0]?.message]).toEqual([400, expect.stringContaining(message)]);
  });

  it("that a key names has to exist", async () => {
    await teams.make({ id: "research" });
    const body = { name: "x", team: "reserch" };
    const init = { method: "POST", ...jsonInit(body) };
    const made = await gate.manage("/virtual-keys", init);
    expect([made.status, made.body.errors[0]?.message]).toEqual([
      400,
      'team: There is no team "reserch" in this account: did you mean "research"?',
    ]);
    const { id } = await keys.make();
    expect((await keys.change(id, { team: "nobody" })).status).toBe(400);
    expect(
      await gate.manage("/teams", { method: "POST", ...jsonInit({ id: "research" }) }),
    ).toMatchObject({
      status: 409,
    });
  });

  it("is seen by its own account only, and made by who may edit", async () => {
    await teams.make({ id: "research" });
    const headers = { authorization: "Bearer read-only" };
    expect((await gate.manageRaw("/teams", { headers })).status).toBe(200);
    const init = { method: "POST", ...jsonInit({ id: "x" }, headers) };
    expect((await gate.manageRaw("/teams", init)).status).toBe(403);
    for (const method of ["PATCH", "PUT", "DELETE"]) {
      const change = { method, headers: { ...headers, "content-type": "application/json" } };
      const body = method === "DELETE" ? {} : { body: "{}" };
      expect((await gate.manageRaw("/teams/research", { ...change, ...body })).status).toBe(403);
    }
  });
});
