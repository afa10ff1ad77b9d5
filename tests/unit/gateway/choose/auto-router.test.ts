import { afterAll, describe, expect, it } from "vitest";
import type { Authenticate } from "../../../../core/auth/authorize.ts";
import {
  type GatewayParts,
  gatewayParts,
  type ModelRouter,
  type RouteRequest,
} from "../../../../core/gateway/mod.ts";
import type { Log } from "../../../../core/ports.ts";
import { TransportError } from "../../../../core/transport-error.ts";
import {
  API_TOKEN,
  GATEWAY_TOKEN,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import {
  type FakeTransport,
  fakeTransport,
  jsonReply,
  sentHeaders,
} from "../../../fakes/gateway-transport.ts";

const platforms: GatewayUnderTest[] = [];
afterAll(async () => {
  for (const one of platforms) await one.close();
});

/** A platform takes 16 engines. */
const ENGINES = 16;
let engines = 0;

async function platformFor(): Promise<GatewayUnderTest> {
  if (engines++ % (ENGINES - 1) === 0) platforms.push(await gatewayUnderTest());
  const [newest] = platforms.slice(-1);
  if (newest === undefined) throw new Error("There is no platform");
  return newest;
}

const price = (input: number, cached = input) => ({ input, output: input, cached });
/** `cheap` sees no images, `small` is small, `dear` can do everything. */
const candidates = [
  { model: "openai/dear", price: price(10, 0.01) },
  { model: "groq/cheap", price: price(0.1), lacks: ["images"] },
  { model: "google/middle", price: price(1), lacks: ["tools"] },
] as const;
const reply = {
  id: "c",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};
const hello = [{ role: "user", content: "hello" }];
const image = [
  {
    role: "user",
    content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA" } }],
  },
];
const tools = [{ type: "function", function: { name: "f", parameters: {} } }];

/** An engine of its own, so that no test sees another's sessions, over one platform. */
interface Routed {
  readonly transport: FakeTransport;
  readonly rowsOf: GatewayUnderTest["rowsOf"];
  readonly aiBinding: GatewayParts["aiBinding"];
  /** Sends a request below `/v1/acme/`. */
  readonly send: (path: string, init: RequestInit) => Promise<Response>;
  /** Sends a REST inference request. */
  readonly infer: (path: string, init: RequestInit) => Promise<Response>;
}

const auth: Authenticate = (request) =>
  Promise.resolve(
    request.headers.get("authorization") === `Bearer ${API_TOKEN}`
      ? { id: "t", kind: "token", grants: [{ permissions: ["*"], accounts: ["acme"] }] }
      : null,
  );

async function routed(
  router: Partial<ModelRouter> | null = {},
  log: Log = () => undefined,
): Promise<Routed> {
  const { platform, rowsOf } = await platformFor();
  const transport = fakeTransport(({ url }) =>
    url.includes("generativelanguage")
      ? jsonReply({ candidates: [{ content: { parts: [{ text: "ok" }] }, finishReason: "STOP" }] })
      : jsonReply(reply),
  );
  const { gateway, management, aiBinding } = gatewayParts({
    platform: { ...platform, transport, log },
    auth,
    accountId: "acme",
    gateways: {
      open: { authentication: false, storedKeysForAnonymous: true },
      closed: { tokens: [GATEWAY_TOKEN] },
    },
    providers: {
      openai: { apiKey: "sk-openai" },
      groq: { apiKey: "sk-groq" },
      "google-ai-studio": { apiKey: "sk-google" },
    },
    ...(router === null ? {} : { router: { candidates, ...router } }),
  });
  return {
    transport,
    rowsOf,
    aiBinding,
    send: async (path, init) =>
      gateway.fetch(
        new Request(`http://gateway.test/v1/acme/${path}`, { method: "POST", ...init }),
      ),
    infer: async (path, init) => {
      const request = new Request(`http://gateway.test/accounts/acme/ai/${path}`, {
        method: "POST",
        ...init,
      });
      request.headers.set("authorization", `Bearer ${API_TOKEN}`);
      return management.fetch(request);
    },
  };
}

/** A chat for `cloudflare/auto`, and what the answer says of its route. */
async function ask(
  on: Routed,
  headers: Record<string, string> = {},
  body: object = {},
  path = "open/compat/chat/completions",
): Promise<{ status: number; model: string | null; reason: string | null; text: string }> {
  const response = await on.send(
    path,
    jsonInit({ model: "cloudflare/auto", messages: hello, ...body }, headers),
  );
  return {
    status: response.status,
    model: response.headers.get("cf-aig-routed-model"),
    reason: response.headers.get("cf-aig-routing-reason"),
    text: await response.text(),
  };
}

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

describe("fallbacks of the automatic router", () => {
  const failing = (on: Routed, status: number): void => {
    const { behave } = on.transport;
    on.transport.behave = (request, index) =>
      request.url.includes("groq") ? jsonReply({ error: "no" }, status) : behave(request, index);
  };

  it.each([500, 429, 401, 404])(
    "go on with the next model after a %d, and leave the first one out for a while",
    async (status) => {
      const on = await routed();
      failing(on, status);
      const first = await ask(on, { "cf-aig-max-attempts": "1" });
      expect(first).toMatchObject({
        status: 200,
        model: "google/middle",
        reason: "fallback_candidate_unavailable",
      });
      expect(on.transport.requests).toHaveLength(2);
      const next = await ask(on);
      expect(next).toMatchObject({ model: "google/middle", reason: "cost_optimal_within_pool" });
      expect(on.transport.requests).toHaveLength(3);
    },
  );

  it("do not hold a bad request against a model", async () => {
    const on = await routed();
    failing(on, 400);
    await ask(on);
    await ask(on);
    expect(on.transport.requests.filter(({ url }) => url.includes("groq"))).toHaveLength(2);
  });

  it("do not hold a caller's own key or impatience against a model", async () => {
    const on = await routed();
    const own = { authorization: "Bearer sk-own", "cf-aig-allowed-providers": "groq" };
    failing(on, 401);
    expect((await ask(on, own)).status).toBe(401);
    const { behave } = on.transport;
    on.transport.behave = (request) =>
      request.url.includes("groq")
        ? Promise.reject(new TransportError("unreachable", "too late"))
        : jsonReply(reply);
    await ask(on, { "cf-aig-request-timeout": "1" });
    on.transport.behave = behave;
    on.transport.requests.length = 0;
    await ask(on);
    expect(on.transport.requests[0]?.url).toContain("groq");
  });

  it("end with the last model's own answer", async () => {
    const on = await routed();
    on.transport.behave = () => jsonReply({ error: { message: "down" } }, 503);
    const { status, model } = await ask(on);
    expect([status, model]).toEqual([503, "openai/dear"]);
    // All of them fail now, which is no reason not to ask.
    expect((await ask(on)).status).toBe(503);
  });

  it("leave a row for each model that was tried", async () => {
    const on = await routed();
    failing(on, 500);
    await ask(on, { "cf-aig-event-id": "fell-back" });
    const rows = await on.rowsOf("open", "fell-back", 2);
    const tried = rows.map(({ provider, success }) => `${String(provider)} ${String(success)}`);
    expect(tried.toSorted()).toEqual(["google-ai-studio true", "groq false"]);
  });

  it("take a caller's key to no provider that the caller did not choose", async () => {
    const on = await routed();
    const key = { authorization: "Bearer sk-of-the-caller" };
    const sent = async (headers: Record<string, string>, body = {}): Promise<unknown> => {
      await ask(on, { ...key, ...headers }, body);
      return on.transport.requests.at(-1)?.headers;
    };
    const all = [
      await sent({}),
      // Able is another thing than chosen.
      await sent({}, { messages: image, tools }),
    ];
    expect(JSON.stringify(all)).not.toContain("sk-of-the-caller");
    expect(JSON.stringify(await sent({ "cf-aig-allowed-providers": "openai" }))).toContain(
      "Bearer sk-of-the-caller",
    );
  });
});

describe("session affinity", () => {
  const turn = (...said: string[]) => ({
    messages: said.flatMap((content) => [
      { role: "user", content },
      { role: "assistant", content: "x" },
    ]),
  });
  const session = { "cf-aig-session-id": "s" };
  const onlyDear = { "cf-aig-allowed-providers": "openai" };

  it("keeps the model of a turn", async () => {
    const on = await routed();
    await ask(on, { ...session, ...onlyDear }, turn("a"));
    const same = await ask(on, session, turn("a"));
    expect(same).toMatchObject({ model: "openai/dear", reason: "pinned_by_turn" });
    const next = await ask(on, session, turn("a", "b"));
    expect(next).toMatchObject({ model: "groq/cheap", reason: "cost_optimal_within_pool" });
  });

  it("takes turns as a header marks them", async () => {
    const on = await routed();
    const marked = { ...session, "cf-aig-turn-id": "1" };
    await ask(on, { ...marked, ...onlyDear }, turn("a"));
    expect((await ask(on, marked, turn("a", "b"))).reason).toBe("pinned_by_turn");
    const other = { ...session, "cf-aig-turn-id": "2" };
    expect((await ask(on, other, turn("a", "b"))).model).toBe("groq/cheap");
  });

  it("stays with the model that has the prompt in its cache while that is cheaper", async () => {
    const on = await routed();
    const long = "x".repeat(400_000);
    await ask(on, { ...session, ...onlyDear }, turn(long));
    expect((await ask(on, session, turn(long, "b"))).model).toBe("openai/dear");
    expect((await ask(on, {}, turn(long, "b"))).model).toBe("groq/cheap");
  });

  it.each([
    ["another session", { "cf-aig-session-id": "t" }, "open"],
    ["a request without one", {}, "open"],
    ["no-session-affinity", { ...session, "cf-aig-no-session-affinity": "true" }, "open"],
    ["another gateway", { ...session, "cf-aig-authorization": GATEWAY_TOKEN }, "closed"],
  ])("is not there for %s", async (_, headers, gateway) => {
    const on = await routed();
    await ask(on, { ...session, ...onlyDear });
    const path = `${gateway}/compat/chat/completions`;
    expect((await ask(on, headers, {}, path)).model).toBe("groq/cheap");
  });

  it("gives way to what a request needs and allows", async () => {
    const on = await routed();
    const marked = { ...session, "cf-aig-turn-id": "1" };
    expect((await ask(on, marked)).model).toBe("groq/cheap");
    expect((await ask(on, marked, { messages: image })).model).toBe("google/middle");
    expect((await ask(on, { ...marked, ...onlyDear })).model).toBe("openai/dear");
  });

  it("pins the model that took over", async () => {
    const on = await routed();
    const { behave } = on.transport;
    on.transport.behave = (request, index) =>
      request.url.includes("groq") ? jsonReply({}, 400) : behave(request, index);
    expect((await ask(on, session)).model).toBe("google/middle");
    expect(await ask(on, session)).toMatchObject({
      model: "google/middle",
      reason: "pinned_by_turn",
    });
  });

  it("remembers no more sessions than it may", async () => {
    const on = await routed({ sessions: 1 });
    await ask(on, { ...session, ...onlyDear });
    await ask(on, { "cf-aig-session-id": "t", ...onlyDear });
    expect((await ask(on, session)).model).toBe("groq/cheap");
  });
});

describe("the hook of the automatic router", () => {
  it("sees the request and orders the eligible models", async () => {
    const seen: RouteRequest[] = [];
    const on = await routed({
      choose: (request) => {
        seen.push(request);
        (request.body["messages"] as unknown[]).length = 0;
        return { models: ["openai/dear", "google/middle"], reason: "hard_question" };
      },
    });
    const headers = {
      "cf-aig-session-id": "s",
      "cf-aig-turn-id": "3",
      "cf-aig-metadata": '{"plan":"pro"}',
    };
    const { model, reason } = await ask(on, headers, { stream: false, max_tokens: 10 });
    expect([model, reason]).toEqual(["openai/dear", "hard_question"]);
    expect(JSON.parse(on.transport.bodies[0] ?? "")).toMatchObject({ messages: hello });
    const [request] = seen;
    expect(request).toMatchObject({
      account: "acme",
      gateway: "open",
      format: "chat/completions",
      isStream: false,
      needs: [],
      sessionId: "s",
      turnId: "3",
      sessionModel: null,
      metadata: { plan: "pro" },
    });
    expect(request?.candidates.map(({ model: name, provider }) => [name, provider])).toEqual([
      ["groq/cheap", "groq"],
      ["google/middle", "google-ai-studio"],
      ["openai/dear", "openai"],
    ]);
    expect(request?.candidates[0]?.cost).toBeGreaterThan(0);
    expect(request?.inputTokens).toBeGreaterThan(5);
  });

  it("decides which models may take over", async () => {
    const on = await routed({ choose: () => ({ models: ["openai/dear"] }) });
    on.transport.behave = () => jsonReply({ error: "no" }, 500);
    expect((await ask(on)).status).toBe(500);
    expect(on.transport.requests).toHaveLength(1);
  });

  it("is not asked where there is nothing to choose, or nothing to read", async () => {
    let asked = 0;
    const on = await routed({
      choose: () => {
        asked++;
        return { models: ["openai/dear"] };
      },
    });
    const forced = await ask(on, { "cf-aig-allowed-models": "groq/cheap" });
    expect(forced.reason).toBe("forced_by_candidate_pool");
    const wordless = await ask(on, {}, { messages: image });
    expect(wordless).toMatchObject({
      model: "google/middle",
      reason: "fallback_unsupported_input",
    });
    await ask(on, { "cf-aig-session-id": "s" });
    expect((await ask(on, { "cf-aig-session-id": "s" })).reason).toBe("pinned_by_turn");
    expect(asked).toBe(1);
  });

  const secret = "connect ECONNREFUSED 10.0.0.7 secret-of-the-hook";
  const bad: [string, Partial<ModelRouter>, string][] = [
    [
      "throws",
      {
        choose: () => {
          throw new TypeError(secret);
        },
      },
      "fallback_router_error",
    ],
    [
      "throws what has no text",
      { choose: () => Promise.reject(Object.create(null)) },
      "fallback_router_error",
    ],
    [
      "answers with a trap",
      {
        choose: () => ({
          get models(): never {
            throw new TypeError(secret);
          },
        }),
      },
      "fallback_router_error",
    ],
    ["rejects", { choose: () => Promise.reject(new Error(secret)) }, "fallback_router_error"],
    [
      "hangs",
      { choose: () => new Promise(() => undefined), timeoutMs: 5 },
      "fallback_router_timeout",
    ],
    ...[
      undefined,
      null,
      secret,
      {},
      { models: "openai/dear" },
      { models: [] },
      { models: [7] },
      { models: ["mistral/not-a-candidate"] },
      { models: Array(65).fill("openai/dear") },
      { models: ["openai/dear"], reason: "a\r\nset-cookie: b=c" },
      { models: ["openai/dear"], reason: "x".repeat(65) },
    ].map((answer): [string, Partial<ModelRouter>, string] => [
      `answers ${(JSON.stringify(answer) ?? "").slice(0, 60)}`,
      { choose: () => answer as never },
      "fallback_key_not_in_candidates",
    ]),
  ];

  it.each(bad)(
    "that %s costs its say only, or the request where the operator wants",
    async (...of) => {
      const [, router, reason] = of;
      const logged: string[] = [];
      const log: Log = (level, message, fields) =>
        void logged.push(`${level} ${message} ${String(fields?.["detail"])}`);
      const on = await routed(router, log);
      expect(await ask(on)).toMatchObject({ status: 200, model: "groq/cheap", reason });
      await ask(on);
      expect(logged.filter((line) => line.startsWith("warn The automatic router"))).toHaveLength(1);
      const strict = await routed({ ...router, onFailure: "refuse" });
      const { status, text } = await ask(strict);
      expect(status).toBe(503);
      expect(JSON.parse(text)).toMatchObject({ internalCode: 10505, name: "AiGatewayError" });
      expect(text).not.toContain("secret-of-the-hook");
      expect(strict.transport.requests).toEqual([]);
    },
  );

  it("is bound to what the client allows", async () => {
    const on = await routed({ choose: () => ({ models: ["openai/dear"] }) });
    const headers = { "cf-aig-allowed-providers": "groq,google" };
    expect(await ask(on, headers)).toMatchObject({
      model: "groq/cheap",
      reason: "fallback_key_not_in_candidates",
    });
  });

  it("is told that the client left, and is not blamed for it", async () => {
    const logged: string[] = [];
    const leaving = new AbortController();
    const on = await routed(
      {
        choose: (_, signal) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(new Error("aborted")));
            leaving.abort();
          }),
      },
      (_, message) => void logged.push(message),
    );
    const init = jsonInit({ model: "cloudflare/auto", messages: hello });
    const request = { ...init, signal: leaving.signal };
    const status = await on.send("open/compat/chat/completions", request).then(
      (response) => response.status,
      () => 0,
    );
    expect([0, 502]).toContain(status);
    expect([logged, on.transport.requests]).toEqual([[], []]);
  });

  it("is told that time is over", async () => {
    let told = false;
    const on = await routed({
      timeoutMs: 5,
      choose: (_, signal) =>
        new Promise(() => signal.addEventListener("abort", () => (told = true))),
    });
    await ask(on);
    expect(told).toBe(true);
  });

  it.each([{ timeoutMs: 0 }, { timeoutMs: 60_001 }, { sessions: 0 }, { sessionSeconds: 0 }])(
    "has options that are checked: %j",
    async (options) => {
      const choose = () => ({ models: [] });
      await expect(routed({ choose, ...options })).rejects.toThrow(/^router: /);
    },
  );
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
