import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  API_TOKEN,
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, sentHeaders } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;

beforeEach(async () => {
  gate = await gatewayUnderTest({ providers: { groq: { apiKey: "sk-configured" } } });
  await store("openai", "main", true);
  await store("openai", "team-a");
  await store("openai", "default");
  await store("anthropic", "default");
  gate.transport.behave = () => jsonReply({});
});
afterEach(() => gate.close());

async function store(slug: string, alias: string, isDefault = false): Promise<void> {
  const body = {
    alias,
    default_config: isDefault,
    provider_slug: slug,
    secret: `sk-${slug}-${alias}`,
  };
  await gate.manage("/gateways/closed/provider_configs", { method: "POST", ...jsonInit(body) });
}

async function made(settings: object = {}): Promise<{ id: string; key: string }> {
  const init = { method: "POST", ...jsonInit({ name: "team", ...settings }) };
  const { status, body } = await gate.manage("/virtual-keys", init);
  if (status !== 200) throw new Error(JSON.stringify(body.errors));
  return body.result;
}

/** Status, and the credential that the provider got. */
async function ask(token: string, alias?: string, slug = "openai"): Promise<[number, string]> {
  const before = gate.transport.requests.length;
  const headers: Record<string, string> = alias === undefined ? {} : { "cf-aig-byok-alias": alias };
  const { status } = await gate.send(`closed/${slug}/v1/chat/completions`, {
    token,
    ...jsonInit(chat, headers),
  });
  const sent = sentHeaders(gate.transport.requests[before]);
  return [status, (sent["authorization"] ?? sent["x-api-key"] ?? "").replace(/^Bearer /, "")];
}

describe("the aliases of a virtual key", () => {
  it("are the default one unless it is given others, whatever a request names", async () => {
    const { key, id } = await made();
    expect((await gate.manage(`/virtual-keys/${id}`)).body.result).toMatchObject({ aliases: null });
    expect(await ask(key)).toEqual([200, "sk-openai-main"]);
    expect(await ask(key, "default")).toEqual([200, "sk-openai-main"]);
    for (const alias of ["team-a", "main", "TEAM-A", "*"])
      expect(await ask(key, alias)).toEqual([403, ""]);
    // Other callers are the operator's own.
    expect(await ask(API_TOKEN, "team-a")).toEqual([200, "sk-openai-team-a"]);
  });

  it("are the only ones it may use; without a header the first that is stored counts", async () => {
    const { key } = await made({ aliases: ["team-b", "team-a", "default"] });
    expect(await ask(key)).toEqual([200, "sk-openai-team-a"]);
    expect(await ask(key, "team-a")).toEqual([200, "sk-openai-team-a"]);
    expect(await ask(key, "main")).toEqual([403, ""]);
    expect(await ask(key, undefined, "anthropic")).toEqual([200, "sk-anthropic-default"]);
    expect(await ask(key, undefined, "groq")).toEqual([200, "sk-configured"]);
    // No other key in the place of one that is not stored.
    const { key: strict } = await made({ aliases: ["team-a"] });
    expect(await ask(strict, undefined, "anthropic")).toEqual([400, ""]);
    expect(await ask(strict, undefined, "groq")).toEqual([400, ""]);
    const { key: any } = await made({ aliases: ["*"] });
    expect(await ask(any)).toEqual([200, "sk-openai-main"]);
    expect(await ask(any, "team-a")).toEqual([200, "sk-openai-team-a"]);
  });

  it("hold for a step's own headers and settings, and change with the key", async () => {
    const { key, id } = await made();
    const step = (headers: object): object => ({
      provider: "openai",
      endpoint: "chat/completions",
      headers,
      query: chat,
    });
    const universal = async (headers: object): Promise<number> =>
      (await gate.send("closed", { token: key, ...jsonInit([step(headers)]) })).status;
    expect(await universal({})).toBe(200);
    for (const name of ["cf-aig-byok-alias", "gw-aig-byok-alias", "CF-AIG-BYOK-Alias"])
      expect(await universal({ [name]: "team-a" })).toBe(403);
    const change = { method: "PATCH", ...jsonInit({ aliases: ["team-a"] }) };
    expect((await gate.manage(`/virtual-keys/${id}`, change)).status).toBe(200);
    expect(await universal({ "cf-aig-byok-alias": "team-a" })).toBe(200);
    expect(await ask(key)).toEqual([200, "sk-openai-team-a"]);
  });

  it("say what to do in the refusal", async () => {
    const { key } = await made({ aliases: ["team-a"] });
    const refused = await gate.send("closed/openai/v1/chat/completions", {
      token: key,
      ...jsonInit(chat, { "cf-aig-byok-alias": "main" }),
    });
    const text = await refused.text();
    for (const part of ['\\"main\\"', '\\"team-a\\"', "cf-aig-byok-alias"])
      expect(text).toContain(part);
    for (const aliases of [[], ["a b"], [""], "team-a"]) {
      const init = { method: "POST", ...jsonInit({ name: "bad", aliases }) };
      const { status, body } = await gate.manage("/virtual-keys", init);
      expect([status, body.errors[0]?.message]).toEqual([400, expect.stringContaining("aliases")]);
    }
  });
});
