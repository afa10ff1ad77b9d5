import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../../../cases/eventually.ts";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, sentHeaders } from "../../../fakes/gateway-transport.ts";

const to = (elementId: string) => ({ elementId });
const start = (next: string) => ({ id: "start", type: "start", outputs: { next: to(next) } });
const end = { id: "end", type: "end", outputs: {} };
const model = (
  id: string,
  provider: string,
  name: string,
  fallback: string = "end",
  more: object = {},
) => ({
  id,
  type: "model",
  properties: { provider, model: name, retries: 0, timeout: 0, ...more },
  outputs: { success: to("end"), fallback: to(fallback) },
});

describe("a dynamic route", () => {
  let gate: GatewayUnderTest;
  const path = "/gateways/open/routes";
  beforeAll(async () => {
    gate = await gatewayUnderTest();
  });
  afterAll(() => gate.close());

  const post = (at: string, body: object) => gate.manage(at, { method: "POST", ...jsonInit(body) });
  const ask = (name: string, headers: Record<string, string> = {}) =>
    gate.send(
      "open/compat/chat/completions",
      jsonInit({ ...chat, model: `dynamic/${name}` }, headers),
    );
  const made = async (name: string, elements: object[]) => {
    const { status, body } = await post(path, { name, elements });
    expect(status).toBe(200);
    return body.result as Route;
  };
  type Route = { id: string; version: { version_id: string; active: string; data: string } };
  const asked = () =>
    gate.transport.bodies.map((body) => (JSON.parse(body) as { model: string }).model);

  it("is answered by the model it leads to, which the answer names", async () => {
    await made("plain", [start("m"), model("m", "openai", "gpt-x"), end]);
    const answer = await ask("plain", { authorization: "Bearer sk-own" });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("cf-aig-model")).toBe("gpt-x");
    expect(answer.headers.get("gw-aig-provider")).toBe("openai");
    const request = gate.transport.requests.at(-1);
    expect(request?.url).toBe("https://api.openai.com/v1/chat/completions");
    expect(sentHeaders(request)["authorization"]).toBe("Bearer sk-own");
    expect(asked().at(-1)).toBe("gpt-x");
  });

  it("may have models whose names no header can hold: the answer and its row get through", async () => {
    await made("any-script", [start("m"), model("m", "openai", "模型"), end]);
    const answer = await ask("any-script", { "cf-aig-event-id": "any-script" });
    expect([answer.status, answer.headers.get("cf-aig-model")]).toEqual([
      200,
      "%E6%A8%A1%E5%9E%8B",
    ]);
    const [row] = await gate.rowsOf("open", "any-script", 1);
    expect(row).toMatchObject({ model: "模型", success: true });
  });

  it.each(["a\nb", "a\u0000", "\u0085", "\ud800", ""])(
    "takes no model %j: it is refused where it is stored",
    async (name) => {
      const elements = [start("m"), model("m", "openai", name), end];
      const { status, body } = await post(path, { name: "odd", elements });
      expect([status, body.errors[0]?.message]).toEqual([
        400,
        expect.stringContaining("properties.model"),
      ]);
    },
  );

  it("falls back when a model fails, and answers the last failure when all do", async () => {
    await made("ladder", [
      start("a"),
      model("a", "openai", "first", "b"),
      model("b", "groq", "second", "c"),
      model("c", "mistral", "third"),
      end,
    ]);
    const before = gate.transport.requests.length;
    gate.transport.behave = ({ url }) => jsonReply({}, url.includes("mistral") ? 200 : 500);
    expect((await ask("ladder")).headers.get("cf-aig-model")).toBe("third");
    expect(asked().slice(before)).toEqual(["first", "second", "third"]);
    gate.transport.behave = ({ url }) => jsonReply({ url }, 503);
    const failed = await ask("ladder");
    expect([failed.status, failed.headers.get("cf-aig-model")]).toEqual([503, "third"]);
    gate.transport.behave = () => jsonReply({});
  });

  it("lets go of a failed answer when a limit ends the way to the next model", async () => {
    const limit = {
      id: "r",
      type: "rate",
      properties: { limit: 0, window: 60 },
      outputs: { success: to("b") },
    };
    const models = [model("a", "openai", "first", "r"), model("b", "groq", "second")];
    await made("let-go", [start("a"), ...models, limit, end]);
    const cancelled = Promise.withResolvers<void>();
    const body = new ReadableStream({ cancel: () => cancelled.resolve() });
    gate.transport.behave = () => ({ ...jsonReply({}, 500), body });
    expect((await ask("let-go")).status).toBe(429);
    await cancelled.promise;
    gate.transport.behave = () => jsonReply({});
  });

  it("tries a model as often as it says", async () => {
    await made("stubborn", [start("m"), model("m", "openai", "m", "end", { retries: 2 }), end]);
    const before = gate.transport.requests.length;
    gate.transport.behave = (_, index) => jsonReply({}, index === before + 2 ? 200 : 500);
    expect((await ask("stubborn", { "cf-aig-retry-delay": "0" })).status).toBe(200);
    expect(gate.transport.requests.length - before).toBe(3);
    gate.transport.behave = () => jsonReply({});
  });

  it("branches on the request's metadata", async () => {
    await made("tiers", [
      start("if"),
      {
        id: "if",
        type: "conditional",
        properties: { conditions: { "metadata.plan": { $eq: "paid" } } },
        outputs: { true: to("big"), false: to("small") },
      },
      model("big", "openai", "big"),
      model("small", "openai", "small"),
      end,
    ]);
    const led = async (plan: string) =>
      (await ask("tiers", { "cf-aig-metadata": JSON.stringify({ plan }) })).headers.get(
        "cf-aig-model",
      );
    expect([await led("paid"), await led("free")]).toEqual(["big", "small"]);
  });

  it("counts requests per key, exactly under concurrency", async () => {
    await made("quota", [
      start("r"),
      {
        id: "r",
        type: "rate",
        properties: { key: "metadata.user", limit: 3, limitType: "count", window: 86_400 },
        outputs: { success: to("big"), fallback: to("small") },
      },
      model("big", "openai", "big"),
      model("small", "openai", "small"),
      end,
    ]);
    const led = async (user: string) =>
      (await ask("quota", { "cf-aig-metadata": JSON.stringify({ user }) })).headers.get(
        "cf-aig-model",
      );
    const answers = await Promise.all(Array.from({ length: 8 }, () => led("u1")));
    expect(answers.filter((name) => name === "big")).toHaveLength(3);
    expect(await led("u2")).toBe("big");
  });

  it("ends with 429 where a limit has no fallback, and by cost once a budget is used up", async () => {
    await made("budget", [
      start("r"),
      {
        id: "r",
        type: "rate_limit",
        properties: { limit: 0.05, limitType: "cost", interval: 86_400 },
        outputs: { success: to("m") },
      },
      model("m", "openai", "m"),
      end,
    ]);
    const cost = { "cf-aig-custom-cost": '{"total_cost":0.03}' };
    const statuses: number[] = [];
    // The cost is counted behind the answer.
    await eventually(async () => {
      const answer = await ask("budget", cost);
      await answer.text();
      statuses.push(answer.status);
      return answer.status === 429;
    }, "the budget is spent");
    expect(statuses.slice(0, 2)).toEqual([200, 200]);
  });

  it("may be a step of a universal request", async () => {
    const steps = [
      { provider: "openai", endpoint: "chat/completions", query: chat },
      {
        provider: "compat",
        endpoint: "chat/completions",
        query: { ...chat, model: "dynamic/plain" },
      },
    ];
    const before = gate.transport.requests.length;
    gate.transport.behave = (_, index) => jsonReply({}, index === before ? 500 : 200);
    const answer = await gate.send("open", jsonInit(steps));
    expect([answer.status, answer.headers.get("cf-aig-step")]).toEqual([200, "1"]);
    expect(asked().at(-1)).toBe("gpt-x");
    gate.transport.behave = () => jsonReply({});
  });

  it("that does not exist, or leads to no model, is a 400", async () => {
    await made("empty", [start("end"), end]);
    expect((await ask("empty")).status).toBe(400);
    const none = await ask("none");
    expect([none.status, await none.json()]).toMatchObject([400, { error: [{ code: 2019 }] }]);
  });

  it("runs a version once it is deployed, and an older one again", async () => {
    const route = await made("versioned", [start("m"), model("m", "openai", "v1"), end]);
    expect(route.version.active).toBe("true");
    const elements = [start("m"), model("m", "openai", "v2"), end];
    const version = (await post(`${path}/${route.id}/versions`, { elements })).body.result as {
      version_id: string;
    };
    expect(version).toMatchObject({ id: route.id, elements, active: "false" });
    const led = async () => (await ask("versioned")).headers.get("cf-aig-model");
    expect(await led()).toBe("v1");
    const deploy = (version_id: string) => post(`${path}/${route.id}/deployments`, { version_id });
    expect((await deploy(version.version_id)).body.result).toMatchObject({ elements });
    expect(await led()).toBe("v2");
    await deploy(route.version.version_id);
    expect(await led()).toBe("v1");
    const list = async (what: string, query: string = "") =>
      ((await gate.manage(`${path}/${route.id}/${what}?${query}`)).body as unknown as Listing).data;
    const versions = (await list("versions"))["versions"] ?? [];
    expect(versions.map(({ active }) => active).toSorted()).toEqual(["false", "true"]);
    expect((await list("deployments"))["deployments"]).toHaveLength(3);
    expect((await list("deployments", "page=2"))["deployments"]).toEqual([]);
    expect((await deploy("nope")).status).toBe(404);
    const other = await made("other", [start("m"), model("m", "openai", "o"), end]);
    expect((await deploy(other.version.version_id)).status).toBe(404);
  });

  type Listing = { data: Record<string, { active: string }[] | undefined> };

  it("is renamed, listed and deleted", async () => {
    const route = await made("before", [start("m"), model("m", "openai", "m"), end]);
    const patch = { method: "PATCH", ...jsonInit({ name: "Route Name" }) };
    expect((await gate.manage(`${path}/${route.id}`, patch)).body).toMatchObject({
      success: true,
      route: { name: "Route Name", account_tag: "acme" },
    });
    expect((await ask("Route Name")).status).toBe(200);
    expect((await ask("before")).status).toBe(400);
    const { body } = await gate.manage(`${path}?per_page=2`);
    expect((body as unknown as Listing).data).toMatchObject({
      page: 1,
      per_page: 2,
      routes: [{ account_tag: "acme" }, { account_tag: "acme" }],
    });
    expect((await post(path, { name: "Route Name", elements: [start("end"), end] })).status).toBe(
      409,
    );
    for (const name of ["a/b", " a", "a ", ""])
      expect((await post(path, { name, elements: [start("end"), end] })).status).toBe(400);
    expect(
      (await post(path, { name: "big", elements: [start("x".repeat(70_000)), end] })).status,
    ).toBe(400);
    expect((await gate.manage(`${path}/${route.id}`, { method: "DELETE" })).status).toBe(200);
    expect((await ask("Route Name")).status).toBe(400);
    expect((await gate.manage(`${path}/${route.id}/versions`)).status).toBe(404);
  });

  it("keeps a bounded number of versions and deployments", async () => {
    const route = await made("many", [start("m"), model("m", "openai", "m"), end]);
    const elements = [start("m"), model("m", "openai", "m"), end];
    for (let i = 0; i < 102; i++) await post(`${path}/${route.id}/versions`, { elements });
    const { body } = await gate.manage(`${path}/${route.id}/versions?per_page=100`);
    const versions = (body as unknown as Listing).data["versions"] ?? [];
    expect(versions).toHaveLength(100);
    expect((await ask("many")).status).toBe(200);
    const kept = await gate.manage(`${path}/${route.id}/versions/${route.version.version_id}`);
    expect(kept.status).toBe(200);
  });
});
