import { afterEach, describe, expect, it } from "vitest";
import type { GatewayOptions, ModelRouter } from "../../../../core/gateway/mod.ts";
import {
  API_TOKEN,
  GATEWAY_TOKEN,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, sentHeaders, streamReply } from "../../../fakes/gateway-transport.ts";

const free = { input: 0, output: 0 };
const candidates = [
  { model: "groq/a", price: free },
  { model: "openai/b", price: free },
];
const hello = [{ role: "user", content: "hello" }];
const PATH = "open/compat/chat/completions";

let gate: GatewayUnderTest;
afterEach(() => gate.close());

async function open(
  router: Partial<ModelRouter> = {},
  more: Partial<GatewayOptions> = {},
): Promise<void> {
  gate = await gatewayUnderTest(
    {
      providers: { openai: { apiKey: "sk-openai" }, groq: { apiKey: "sk-groq" } },
      router: { candidates, ...router },
      ...more,
    },
    { log: () => undefined },
  );
  gate.transport.behave = () => jsonReply({ choices: [] });
}

async function ask(
  headers: Record<string, string> = {},
  path = PATH,
  body: object = {},
): Promise<{ status: number; model: string | null; reason: string | null; text: string }> {
  const init = jsonInit({ model: "cloudflare/auto", messages: hello, ...body }, headers);
  const response = await gate.send(path, init);
  return {
    status: response.status,
    model: response.headers.get("cf-aig-routed-model"),
    reason: response.headers.get("cf-aig-routing-reason"),
    text: await response.text(),
  };
}

/** Everything that went out. */
const sent = (): string => JSON.stringify([gate.transport.requests, gate.transport.bodies]);

describe("what a caller sends along for one provider", () => {
  const personal: [string, Record<string, string>, string][] = [
    ["in the query", {}, `${PATH}?key=of-the-caller`],
    ["under the name of a custom provider", { "x-lab-key": "of-the-caller" }, PATH],
    ["as a cookie", { cookie: "session=of-the-caller" }, PATH],
    ["as a project", { "openai-project": "of-the-caller" }, PATH],
    ["as a token", { "x-amz-security-token": "of-the-caller" }, PATH],
  ];

  it.each(personal)("%s goes to none that it did not choose", async (_, headers, path) => {
    await open();
    gate.transport.behave = ({ url }) => jsonReply({}, url.includes("groq") ? 500 : 200);
    expect(await ask(headers, path)).toMatchObject({ status: 200, model: "openai/b" });
    expect(gate.transport.requests).toHaveLength(2);
    expect(sent()).not.toContain("of-the-caller");
    // With a token: strangers choose no project of the operator's.
    const own = { "cf-aig-authorization": `Bearer ${API_TOKEN}` };
    const one = { ...headers, ...own, "cf-aig-allowed-providers": "openai" };
    expect((await ask(one, path)).status).toBe(200);
    expect(sent()).toContain("of-the-caller");
  });

  it.each([
    ["a query", {}, `${PATH}?api-version=none`],
    ["a project", { "openai-project": "none" }, PATH],
    ["an alias of a key", { "cf-aig-byok-alias": "spent" }, PATH],
    ["an alias of a key in a universal step", null, "open"],
  ])("makes no model fail for others: %s", async (_, headers, path) => {
    await open();
    await ask();
    const stored = await gate.manage("/gateways/open/provider_configs", {
      method: "POST",
      ...jsonInit({
        alias: "spent",
        default_config: false,
        provider_slug: "groq",
        secret: "sk-spent-0123456789",
      }),
    });
    expect(stored.status).toBe(200);
    gate.transport.behave = () => jsonReply({}, 404);
    const groq = { "cf-aig-allowed-providers": "groq" };
    if (headers === null) {
      const step = {
        provider: "compat",
        endpoint: "chat/completions",
        query: { model: "cloudflare/auto", messages: hello },
        headers: { ...groq, "cf-aig-byok-alias": "spent" },
      };
      const response = await gate.send(path, jsonInit([step]));
      expect(response.status).toBe(404);
      await response.text();
    } else expect((await ask({ ...groq, ...headers }, path)).status).toBe(404);
    gate.transport.behave = () => jsonReply({});
    expect((await ask()).model).toBe("groq/a");
  });

  it("is not the gateway's token, wherever it stands", async () => {
    await open();
    const bearer = `Bearer ${GATEWAY_TOKEN}`;
    const path = "closed/compat/chat/completions";
    expect((await ask({ authorization: bearer }, path)).status).toBe(200);
    expect(
      (await ask({ "cf-aig-authorization": bearer }, `${path}?k=${GATEWAY_TOKEN}`)).status,
    ).toBe(200);
    const inText = [{ role: "user", content: `my token is ${GATEWAY_TOKEN}` }];
    const refused = await ask({ "cf-aig-authorization": bearer }, path, { messages: inText });
    expect(refused.status).toBe(400);
    expect(refused.text + sent()).not.toContain(GATEWAY_TOKEN);
    expect(sentHeaders(gate.transport.requests[0])["authorization"]).toBe("Bearer sk-groq");
  });
});

describe("the router's words", () => {
  it("are the gateway's: a provider cannot say them", async () => {
    await open();
    gate.transport.behave = () =>
      jsonReply({}, 200, [
        ["cf-aig-routed-model", "forged"],
        ["gw-aig-routing-reason", "forged"],
        ["cf-aig-cache-similarity", "forged"],
      ]);
    const init = jsonInit({ model: "cloudflare/auto", messages: hello });
    const response = await gate.send(PATH, init);
    await response.text();
    expect(JSON.stringify([...response.headers])).not.toContain("forged");
    expect(response.headers.get("gw-aig-routing-reason")).toBe("cost_optimal_within_pool");
  });

  it.each([
    "openai/a\r\nx: y",
    "openai/ü",
    "openai/a b",
    "openai/a,b",
    "cloudflare/auto",
    "dynamic/r",
  ])("hold no candidate such as %j", async (model) => {
    await expect(open({ candidates: [{ model, price: free }] })).rejects.toThrow(/^router: /);
    await open();
  });

  it.each(["auto/chat/completions", "cloudflare/chat/completions"])(
    "do not make a provider of %s",
    async (path) => {
      await open();
      expect((await ask({}, `open/${path}`)).status).toBe(400);
      expect(gate.transport.requests).toEqual([]);
    },
  );
});

describe("a hook of the automatic router", () => {
  it.each<[string, () => unknown]>([
    [
      "an error whose message is a trap",
      () =>
        Object.defineProperty(new Error(), "message", {
          get: () => {
            throw new TypeError("trap");
          },
        }),
    ],
    [
      "an error whose message is no text",
      () => Object.assign(new Error(), { message: Symbol("s") }),
    ],
    [
      "a revoked proxy",
      () => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        return proxy;
      },
    ],
  ])("that throws %s costs its say only", async (_, thrown) => {
    await open({ choose: () => Promise.reject(thrown()) });
    expect(await ask()).toMatchObject({ status: 200, reason: "fallback_router_error" });
  });

  it("that names a model has no other one tried, not even one that failed before", async () => {
    await open({
      candidates: [...candidates, { model: "mistral/c", price: free }],
      choose: () => ({ models: ["openai/b"] }),
    });
    gate.transport.behave = () => jsonReply({}, 500);
    const once = { "cf-aig-max-attempts": "1" };
    await ask({ ...once, "cf-aig-allowed-providers": "groq" });
    gate.transport.requests.length = 0;
    expect((await ask(once)).status).toBe(500);
    expect(gate.transport.requests.map(({ url }) => new URL(url).host)).toEqual(["api.openai.com"]);
  });

  it("that changes what it is given changes nothing", async () => {
    await open({
      choose: (request) => {
        const {
          body,
          candidates: list,
          metadata,
        } = request as never as {
          body: Record<string, unknown>;
          candidates: { model: string }[];
          metadata: Record<string, unknown>;
        };
        body["messages"] = [{ role: "user", content: "forged" }];
        metadata["forged"] = true;
        for (const one of list) one.model = "forged";
        list.length = 0;
        return { models: ["openai/b"] };
      },
    });
    expect(await ask({ "cf-aig-metadata": '{"a":1}' })).toMatchObject({ model: "openai/b" });
    expect(await ask()).toMatchObject({ status: 200, model: "openai/b" });
    expect(sent()).not.toContain("forged");
  });
});

describe("requests for cloudflare/auto", () => {
  it("count once for a rate limit, however many models are tried", async () => {
    await open();
    const settings = {
      id: "limited",
      authentication: false,
      stored_keys_for_anonymous: true,
      cache_invalidate_on_update: false,
      cache_ttl: 0,
      collect_logs: true,
      rate_limiting_interval: 3600,
      rate_limiting_limit: 2,
      rate_limiting_technique: "sliding",
    };
    const made = await gate.manage("/gateways", { method: "POST", ...jsonInit(settings) });
    expect(made.status).toBe(200);
    gate.transport.behave = ({ url }) => jsonReply({}, url.includes("groq") ? 500 : 200);
    const path = "limited/compat/chat/completions";
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await ask({}, path)).status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  it("that a check refuses reach no further model", async () => {
    await open();
    const dlp = { enabled: true, action: "BLOCK", profiles: ["financial"] };
    await gate.create("checked", { dlp });
    const messages = [{ role: "user", content: "my card is 4111 1111 1111 1111" }];
    const { status, text } = await ask({}, "checked/compat/chat/completions", { messages });
    expect([status, JSON.parse(text)]).toMatchObject([400, { internalCode: 2029 }]);
    expect(gate.transport.requests).toEqual([]);
    // What the provider answers is checked too, and no other model gets another try.
    gate.transport.behave = () =>
      jsonReply({ choices: [{ message: { content: "use 4111 1111 1111 1111" } }] });
    const reply = await ask({}, "checked/compat/chat/completions");
    expect([reply.status, gate.transport.requests.length]).toEqual([400, 1]);
    expect(reply.text).not.toContain("4111");
  });

  it("end the provider's stream with their client", async () => {
    await open();
    const ended = Promise.withResolvers<void>();
    gate.transport.behave = () =>
      streamReply(['data: {"n":1}\n\n'], { ending: "hang", onCancel: () => ended.resolve() });
    const init = jsonInit({ model: "cloudflare/auto", messages: hello, stream: true });
    const response = await gate.send(PATH, init);
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await ended.promise;
    expect(gate.transport.requests).toHaveLength(1);
  });

  it("go to no second model when their client has left", async () => {
    await open();
    const client = new AbortController();
    gate.transport.behave = () => {
      client.abort();
      return jsonReply({}, 500);
    };
    const init = jsonInit({ model: "cloudflare/auto", messages: hello });
    const headers = { ...(init.headers as Record<string, string>), "cf-aig-max-attempts": "1" };
    const answer = await gate
      .send(PATH, { ...init, headers, signal: client.signal })
      .catch(() => null);
    await answer?.text().catch(() => "");
    expect(gate.transport.requests).toHaveLength(1);
  });

  it("keep the sessions of gateways apart", async () => {
    await open(
      {},
      {
        gateways: {
          open: { authentication: false, storedKeysForAnonymous: true },
          two: { authentication: false, storedKeysForAnonymous: true },
        },
      },
    );
    const session = { "cf-aig-session-id": 'x","y' };
    const openai = { ...session, "cf-aig-allowed-providers": "openai" };
    expect((await ask(openai)).model).toBe("openai/b");
    expect(await ask(session)).toMatchObject({ model: "openai/b", reason: "pinned_by_turn" });
    expect(await ask(session, "two/compat/chat/completions")).toMatchObject({ model: "groq/a" });
  });
});
