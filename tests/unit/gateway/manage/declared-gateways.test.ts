import { afterEach, describe, expect, it } from "vitest";
import { parseConfig } from "../../../../core/config/parse-config.ts";
import type { GatewayOptions } from "../../../../core/gateway/entry/options.ts";
import {
  API_TOKEN,
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
  requiredSettings,
} from "../../../fakes/gateway-app.ts";
import { sentHeaders } from "../../../fakes/gateway-transport.ts";

const elements = [
  { id: "s", type: "start", outputs: { next: { elementId: "m" } } },
  {
    id: "m",
    type: "model",
    properties: { provider: "openai", model: "gpt-4o-mini", retries: 0, timeout: 1000 },
    outputs: { success: { elementId: "e" }, fallback: { elementId: "e" } },
  },
  { id: "e", type: "end", outputs: {} },
];
const limits = {
  rate_limiting_interval: 3600,
  rate_limiting_limit: 2,
  rate_limiting_technique: "fixed",
};
const config = {
  gateway: {
    gateways: {
      team: {
        settings: limits,
        keys: { openai: "env:OPENAI_KEY", groq: { default: "env:GROQ_KEY", eu: "env:GROQ_EU" } },
        routes: { support: elements },
      },
    },
  },
};
const env = (name: string): string => `value-of-${name}-0123456789`;
const options = (value: unknown = config): Partial<GatewayOptions> => {
  const gateways = parseConfig(value, env).gateway?.gateways;
  return gateways === undefined ? {} : { gateways };
};

const spendOf = (provider: string): object => ({
  rules: [
    { limit: 1, limitType: "cost", window: 60, provider: { mode: "filter", values: [provider] } },
  ],
});

let gate: GatewayUnderTest;
afterEach(() => gate.close());
const token = API_TOKEN;
const ask = (path: string, body: object = chat, headers = {}) =>
  gate.send(path, { token, ...jsonInit(body, headers) });
const sent = () => sentHeaders(gate.transport.requests.at(-1))["authorization"];

describe("a declared gateway", () => {
  it("has its keys from the environment, by provider and alias", async () => {
    const settings = { ...config.gateway.gateways.team, settings: {} };
    gate = await gatewayUnderTest(options({ gateway: { gateways: { team: settings } } }));
    await ask("team/openai/x");
    expect(sent()).toBe(`Bearer ${env("OPENAI_KEY")}`);
    await ask("team/groq/x");
    expect(sent()).toBe(`Bearer ${env("GROQ_KEY")}`);
    await ask("team/groq/x", chat, { "cf-aig-byok-alias": "eu" });
    expect(sent()).toBe(`Bearer ${env("GROQ_EU")}`);
    expect((await ask("team/groq/x", chat, { "cf-aig-byok-alias": "us" })).status).toBe(400);
    // What is stored beside them serves other providers, and does not take their place.
    const body = {
      alias: "default",
      default_config: true,
      provider_slug: "openai",
      secret: "sk-stored",
    };
    await gate.manage("/gateways/team/provider_configs", { method: "POST", ...jsonInit(body) });
    await ask("team/openai/x");
    expect(sent()).toBe(`Bearer ${env("OPENAI_KEY")}`);
  });

  it("has its limits, shows them, and keeps them from the management API", async () => {
    gate = await gatewayUnderTest(options());
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await ask("team/openai/x")).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect((await gate.manage("/gateways/team")).body.result).toMatchObject(limits);
    expect((await gate.manage("/gateways")).body.result).toMatchObject([{ id: "team", ...limits }]);
    const { authentication: _, stored_keys_for_anonymous: __, ...required } = requiredSettings;
    const put = (more: object) =>
      gate.manage("/gateways/team", { method: "PUT", ...jsonInit({ ...required, ...more }) });
    const refused = await put({});
    expect(refused.status).toBe(409);
    expect(refused.body.errors[0]?.message).toContain("rate_limiting_interval: the configuration");
    expect((await put({ ...limits, cache_ttl: 60 })).status).toBe(200);
    expect((await ask("team/openai/x")).status).toBe(429);
  });

  it("takes over a gateway that was stored before", async () => {
    gate = await gatewayUnderTest();
    await gate.create("team", { rate_limiting_limit: 1000, rate_limiting_interval: 60 });
    const { platform } = gate;
    const again = await gatewayUnderTest(options(), platform);
    const init = {
      method: "POST",
      ...jsonInit(chat, { "cf-aig-authorization": `Bearer ${token}` }),
    };
    const statuses = [];
    for (let i = 0; i < 3; i++) {
      const request = new Request("http://gateway.test/v1/acme/team/openai/x", init);
      statuses.push((await again.app.fetch(request)).status);
    }
    expect(statuses).toEqual([200, 200, 429]);
    await again.close();
  });

  it("has its routes", async () => {
    gate = await gatewayUnderTest(options());
    const answer = await ask("team/compat/chat/completions", { ...chat, model: "dynamic/support" });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("cf-aig-model")).toBe("gpt-4o-mini");
  });
});

describe("a declaration", () => {
  it.each([
    [{ settings: { rate_limiting_limt: 1 } }, "rate_limiting_limit"],
    [{ settings: { rate_limiting_limit: -1 } }, "rate_limiting_limit"],
    [{ settings: { authentication: false } }, "settings.authentication"],
    [{ settings: { dlp: { enabled: true, action: "BLOCK", profiles: ["nobody"] } } }, "nobody"],
    [{ settings: { spend_limits: spendOf("antropic") } }, 'did you mean "anthropic"'],
    [{ keys: { opnai: "sk" } }, 'did you mean "openai"'],
    [{ keys: { openai: "" } }, "keys.openai"],
    [{ routes: { way: [] } }, "way"],
  ])("that cannot be meant ends the start: %j", async (declaration, told) => {
    gate = await gatewayUnderTest();
    const start = async (): Promise<void> => {
      const wrong = await gatewayUnderTest(
        options({ gateway: { gateways: { team: declaration } } }),
      );
      await wrong.close();
    };
    await expect(start()).rejects.toThrow(told);
  });
});
