import { afterAll, describe, expect, it } from "vitest";
import { API_TOKEN, jsonInit } from "../../../fakes/gateway-app.ts";
import { sentHeaders } from "../../../fakes/gateway-transport.ts";
import {
  type Routed,
  ask,
  hello,
  closeRouted,
  price,
  reply,
  routed,
  tools,
} from "../../../fakes/gateway-auto-router.ts";

afterAll(closeRouted);
const image = [
  {
    role: "user",
    content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA" } }],
  },
];

describe("the model cloudflare/auto", () => {
  it("is a 400 that says why where there is no router", async () => {
    const on = await routed(null);
    const { status, text } = await ask(on);
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({
      success: false,
      error: [{ code: 2019, message: expect.stringContaining("automatic router") as unknown }],
    });
    expect(on.transport.requests).toEqual([]);
  });

  it("is served by the cheapest model, and the answer says so under both prefixes", async () => {
    const on = await routed();
    const response = await on.send(
      "open/compat/chat/completions",
      jsonInit({ model: "cloudflare/auto", messages: hello, seed: 7 }),
    );
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual(reply);
    for (const prefix of ["cf-aig", "gw-aig"]) {
      const header = (name: string) => response.headers.get(`${prefix}-${name}`);
      expect(header("routed-model")).toBe("groq/cheap");
      expect(header("routing-reason")).toBe("cost_optimal_within_pool");
      expect(header("routing-decision-id")).toMatch(
        /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
      );
      expect([header("provider"), header("model")]).toEqual(["groq", "cheap"]);
    }
    expect(JSON.parse(on.transport.bodies[0] ?? "")).toEqual({
      model: "cheap",
      messages: hello,
      seed: 7,
    });
    expect(sentHeaders(on.transport.requests[0])["authorization"]).toBe("Bearer sk-groq");
  });

  it("leaves a log row with the routed model and provider", async () => {
    const on = await routed();
    await ask(on, { "cf-aig-event-id": "routed-row", "cf-aig-session-id": "s" });
    const [row] = await on.rowsOf("open", "routed-row", 1);
    expect(row).toMatchObject({ provider: "groq", model: "cheap", success: true });
    expect(sentHeaders(on.transport.requests[0])).not.toHaveProperty("cf-aig-session-id");
  });

  it("adds nothing to answers of models that were named", async () => {
    const on = await routed();
    const { model } = await ask(on, {}, { model: "openai/dear" });
    expect(model).toBeNull();
  });

  it("is listed among the models", async () => {
    const ids = async (on: Routed): Promise<string[]> => {
      const response = await on.send("open/compat/models", { method: "GET" });
      const { data } = (await response.json()) as { data: { id: string }[] };
      return data.map(({ id }) => id);
    };
    expect(await ids(await routed())).toContain("cloudflare/auto");
    expect(await ids(await routed(null))).not.toContain("cloudflare/auto");
  });

  it.each([
    [{ messages: image }, "google/middle"],
    [{ messages: image, tools }, "openai/dear"],
    [{ tools }, "groq/cheap"],
  ])("goes to a model that is able: %j", async (body, model) => {
    expect(await ask(await routed(), {}, body)).toMatchObject({ status: 200, model });
  });

  it("goes to a model whose window is large enough", async () => {
    const on = await routed({
      candidates: [
        { model: "groq/short", price: price(0.1), contextTokens: 1000 },
        { model: "openai/wide", price: price(1), contextTokens: 10_000 },
      ],
    });
    const long = [{ role: "user", content: "x".repeat(8000) }];
    expect((await ask(on)).model).toBe("groq/short");
    expect((await ask(on, {}, { max_tokens: 2000 })).model).toBe("openai/wide");
    const forced = await ask(on, {}, { messages: long });
    expect(forced).toMatchObject({ model: "openai/wide", reason: "forced_by_candidate_pool" });
    const none = await ask(on, {}, { messages: long, max_tokens: 9000 });
    expect(none).toMatchObject({ status: 400, model: null });
    expect(none.text).toMatch(/about 11\d\d\d tokens/);
  });

  it("has its limit of tokens under the name that the chosen provider takes", async () => {
    const on = await routed();
    await ask(on, {}, { max_completion_tokens: 5 });
    await ask(on, { "cf-aig-allowed-providers": "openai" }, { max_tokens: 6 });
    const [toGroq = "", toOpenai = ""] = on.transport.bodies;
    expect(toGroq).toContain('"max_tokens":5');
    expect(toOpenai).toContain('"max_completion_tokens":6');
    expect(toGroq + toOpenai).not.toMatch(/"max_completion_tokens":5|"max_tokens":6/);
  });
});

describe("allowed models and providers", () => {
  it.each([
    [{ "cf-aig-allowed-models": "openai/*, google/middle" }, "google/middle"],
    [{ "gw-aig-allowed-models": "google-ai-studio/*" }, "google/middle"],
    [{ "cf-aig-allowed-providers": "openai" }, "openai/dear"],
    [{ "cf-aig-allowed-providers": "google-ai-studio,openai" }, "google/middle"],
    [
      { "cf-aig-allowed-providers": "openai,groq", "cf-aig-allowed-models": "openai/*,google/*" },
      "openai/dear",
    ],
  ])("narrow the choice: %j", async (headers, model) => {
    expect((await ask(await routed(), headers)).model).toBe(model);
  });

  it.each([
    [{ "cf-aig-allowed-models": "*" }, /allowed-models: no model .* matches \\"\*\\"/],
    [{ "cf-aig-allowed-models": "groq/cheap,openai/gone" }, /allowed-models.*openai\/gone/],
    [{ "cf-aig-allowed-providers": "mistral" }, /allowed-providers.*mistral/],
    [
      { "cf-aig-allowed-models": "openai/*", "cf-aig-allowed-providers": "groq" },
      /allowed-models and cf-aig-allowed-providers/,
    ],
    [{ "cf-aig-allowed-models": "openai/*,,groq/*" }, /allowed-models: expected/],
    [{ "cf-aig-allowed-models": "a b" }, /allowed-models: expected/],
    [{ "cf-aig-allowed-providers": Array(65).fill("openai").join(",") }, /allowed-providers: exp/],
    [{ "cf-aig-allowed-models": "x".repeat(300) }, /allowed-models: expected/],
    [{ "cf-aig-session-id": "x".repeat(257) }, /session-id: expected/],
    [{ "cf-aig-turn-id": "x".repeat(257) }, /turn-id: expected/],
    [{ "cf-aig-no-session-affinity": "yes" }, /no-session-affinity: expected/],
  ])("%j is a 400 that names the header", async (headers, problem) => {
    const on = await routed();
    const { status, text } = await ask(on, headers);
    expect(status).toBe(400);
    expect(text).toMatch(problem);
    expect(on.transport.requests).toEqual([]);
  });
});

describe("the automatic router on other ways", () => {
  const auto = { model: "cloudflare/auto" };

  it.each([
    ["responses", { ...auto, input: "hello" }, "/openai/v1/responses"],
    ["messages", { ...auto, messages: hello, max_tokens: 9 }, "/openai/v1/chat/completions"],
    ["v1/chat/completions", { ...auto, messages: hello }, "/openai/v1/chat/completions"],
  ])("serves compat/%s", async (path, body, target) => {
    const on = await routed();
    const response = await on.send(`open/compat/${path}`, jsonInit(body));
    expect(response.status).toBe(200);
    expect(response.headers.get("cf-aig-routed-model")).toBe("groq/cheap");
    expect(on.transport.requests[0]?.url).toContain(target);
  });

  it.each([
    ["v1/chat/completions", { ...auto, messages: hello }],
    ["v1/responses", { ...auto, input: "hello" }],
    ["v1/messages", { ...auto, messages: hello, max_tokens: 9 }],
    ["run", { ...auto, input: { messages: hello } }],
    ["run/cloudflare/auto", { messages: hello }],
  ])("serves REST inference at %s", async (path, body) => {
    const on = await routed();
    const headers = { "cf-aig-gateway-id": "open", "cf-aig-allowed-models": "openai/*" };
    const response = await on.infer(path, jsonInit(body, headers));
    expect(response.status).toBe(200);
    expect(response.headers.get("cf-aig-routed-model")).toBe("openai/dear");
    expect(JSON.stringify(on.transport.requests[0]?.headers)).not.toContain(API_TOKEN);
  });

  it("serves a universal step, under the headers of the request and the step's own", async () => {
    const on = await routed();
    const step = { provider: "compat", endpoint: "chat/completions" };
    const query = { ...auto, messages: hello };
    const steps = [
      { ...step, query, headers: { "cf-aig-allowed-models": "google/*" } },
      { ...step, query },
    ];
    const headers = { "cf-aig-allowed-models": "openai/*" };
    const response = await on.send("open", jsonInit([steps[1]], headers));
    expect(response.headers.get("cf-aig-routed-model")).toBe("openai/dear");
    const own = await on.send("open", jsonInit(steps, headers));
    expect(own.headers.get("cf-aig-routed-model")).toBe("google/middle");
    expect(own.headers.get("cf-aig-step")).toBe("0");
  });

  it("serves the binding", async () => {
    const on = await routed();
    const step = { provider: "compat", endpoint: "chat/completions" };
    const response = await on
      .aiBinding("default")
      .run([{ ...step, query: { ...auto, messages: hello } }]);
    expect(response.headers.get("cf-aig-routed-model")).toBe("groq/cheap");
  });

  it("goes on with the next universal step when no model can take the request", async () => {
    const on = await routed({
      candidates: [{ model: "groq/short", price: price(1), contextTokens: 1 }],
    });
    const steps = [
      { provider: "compat", endpoint: "chat/completions", query: { ...auto, messages: hello } },
      { provider: "openai", endpoint: "chat/completions", query: { model: "m", messages: hello } },
    ];
    const response = await on.send("open", jsonInit(steps));
    expect([response.status, response.headers.get("cf-aig-step")]).toEqual([200, "1"]);
  });
});
