import { openPlatform } from "#platform";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../../../cases/eventually.ts";
import { recordStore } from "../../../../core/gateway/account/records/records.ts";
import { vault } from "../../../../core/gateway/account/records/vault.ts";
import { storedProviders } from "../../../../core/gateway/providers/stored/stored-providers.ts";
import type { GatewayOptions } from "../../../../core/gateway/entry/options.ts";
import { gateway } from "../../../../core/gateway/mod.ts";
import {
  chat,
  GATEWAY_TOKEN,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { sentHeaders } from "../../../fakes/gateway-transport.ts";

const SECRET = "sk-live-0123456789abcdef";
let gate: GatewayUnderTest;

beforeAll(async () => {
  gate = await gatewayUnderTest({
    providers: { groq: { apiKey: "sk-configured" } },
    masterKey: "a master key for tests",
  });
  for (const id of ["keys", "byok", "limited", "shared"]) await createGateway(id, id === "byok");
});
afterAll(() => gate.close());

const createGateway = (id: string, byokOnly: boolean) => gate.create(id, { byok_only: byokOnly });
const store = async (gatewayId: string, more: object) => {
  const body = { alias: "default", default_config: true, provider_slug: "openai", ...more };
  return gate.manage(`/gateways/${gatewayId}/provider_configs`, {
    method: "POST",
    ...jsonInit(body),
  });
};
const lastSent = () => sentHeaders(gate.transport.requests.at(-1));

describe("a stored key", () => {
  it("is shown by a preview, never by its secret", async () => {
    const created = await store("keys", { secret: SECRET });
    expect(created.body.result).toMatchObject({
      alias: "default",
      default_config: true,
      gateway_id: "keys",
      provider_slug: "openai",
      secret_preview: "sk-…cdef",
    });
    const { id } = created.body.result as { id: string };
    const path = "/gateways/keys/provider_configs";
    for (const shown of [created, await gate.manage(path), await gate.manage(`${path}/${id}`)]) {
      expect(shown.status).toBe(200);
      expect(JSON.stringify(shown.body)).not.toMatch(/0123456789|sealed/);
    }
    const records = recordStore(gate.platform).ofGateway({ account: "acme", gateway: "keys" });
    expect(JSON.stringify(await records.group("provider_config", "openai"))).not.toContain(SECRET);
  });

  it("goes into the provider's native header when the request brings no credential", async () => {
    await store("keys", { provider_slug: "anthropic", secret: "sk-ant-stored-key-000000" });
    await gate.send("keys/openai/chat/completions", jsonInit(chat));
    expect(lastSent()["authorization"]).toBe(`Bearer ${SECRET}`);
    await gate.send("keys/anthropic/v1/messages", jsonInit(chat));
    expect(lastSent()["x-api-key"]).toBe("sk-ant-stored-key-000000");
    await gate.send("keys/openai/x", jsonInit(chat, { authorization: "Bearer sk-mine" }));
    expect(lastSent()["authorization"]).toBe("Bearer sk-mine");
  });

  it("replaces the gateway token of a unified request", async () => {
    await createGateway("closed-keys", false);
    const body = { ...chat, model: "openai/gpt-test" };
    await store("closed", { secret: SECRET });
    const init = jsonInit(body, { authorization: `Bearer ${GATEWAY_TOKEN}` });
    expect((await gate.send("closed/compat/chat/completions", init)).status).toBe(200);
    expect(lastSent()["authorization"]).toBe(`Bearer ${SECRET}`);
  });

  it("is chosen by its alias; an alias that is not stored is a 400", async () => {
    await store("keys", { alias: "eu", default_config: false, secret: "sk-eu-stored-key-0000000" });
    await gate.send("keys/openai/x", jsonInit(chat, { "cf-aig-byok-alias": "eu" }));
    expect(lastSent()["authorization"]).toBe("Bearer sk-eu-stored-key-0000000");
    const wrong = await gate.send("keys/openai/x", jsonInit(chat, { "cf-aig-byok-alias": "us" }));
    expect(wrong.status).toBe(400);
    expect(await wrong.text()).toContain('stores no key \\"us\\"');
  });

  it("outranks the configured key, which serves where none is stored", async () => {
    await gate.send("keys/groq/chat/completions", jsonInit(chat));
    expect(lastSent()["authorization"]).toBe("Bearer sk-configured");
    await store("keys", { provider_slug: "groq", secret: "gsk-stored-key-000000000" });
    await gate.send("keys/groq/chat/completions", jsonInit(chat));
    expect(lastSent()["authorization"]).toBe("Bearer gsk-stored-key-000000000");
  });

  it("does not travel to another provider's step", async () => {
    const steps = [
      { provider: "openai", endpoint: "chat/completions", query: chat },
      { provider: "mistral", endpoint: "chat/completions", query: chat },
    ];
    gate.transport.behave = ({ url }) => ({
      status: url.includes("openai") ? 500 : 200,
      headers: [],
      body: null,
    });
    await gate.send("keys", jsonInit(steps));
    expect(lastSent()["authorization"]).toBeUndefined();
    gate.transport.behave = () => ({ status: 200, headers: [], body: null });
  });

  it("is one default per provider, changed by PUT and gone after DELETE", async () => {
    const path = "/gateways/shared/provider_configs";
    const first = (await store("shared", { alias: "a", secret: SECRET })).body.result as Config;
    const second = (await store("shared", { alias: "b", secret_id: first.secret_id })).body
      .result as Config;
    expect(second).toMatchObject({ secret_id: first.secret_id, secret_preview: "sk-…cdef" });
    const defaults = async () =>
      ((await gate.manage(path)).body.result as Config[])
        .filter(({ default_config: is }) => is)
        .map(({ alias }) => alias);
    expect(await defaults()).toEqual(["b"]);
    const put = { method: "PUT", ...jsonInit({ default_config: true, secret: "sk-new-one" }) };
    expect((await gate.manage(`${path}/${first.id}`, put)).body.result).toMatchObject({
      alias: "a",
      secret_preview: "…",
    });
    expect(await defaults()).toEqual(["a"]);
    await gate.send("shared/openai/x", jsonInit(chat));
    expect(lastSent()["authorization"]).toBe("Bearer sk-new-one");
    await gate.manage(`${path}/${first.id}`, { method: "DELETE" });
    expect((await gate.manage(`${path}/${first.id}`)).status).toBe(404);
    await gate.send("shared/openai/x", jsonInit(chat));
    expect(lastSent()["authorization"]).toBeUndefined();
  });

  it("is opened once a minute, and again once it was replaced", async () => {
    const { system } = gate.platform;
    const records = recordStore(gate.platform);
    let openings = 0;
    const secrets = {
      seal: (_: unknown, __: string, text: string) => Promise.resolve(text),
      open(_: unknown, __: string, text: string) {
        openings++;
        return Promise.resolve({ text, resealed: null });
      },
    };
    let elapsed = 0;
    const clock = { ...system, monotonic: () => elapsed };
    const stored = storedProviders(records, secrets, clock);
    const name = { account: "acme", gateway: "opened" };
    const write = (sealed: string) => {
      const body = { alias: "default", default_config: true, secret_id: "s", sealed };
      const record = { collection: "provider_config", id: "a", parent: "openai", key: "openai" };
      const whole = { ...record, body, createdAt: 1, modifiedAt: 1 } as const;
      return records
        .ofGateway(name)
        .write({ [sealed === "one" ? "creates" : "replaces"]: [whole] });
    };
    const key = () => stored.key(name, { slug: "openai" }, undefined);
    await write("one");
    expect([await key(), await key(), openings]).toEqual(["one", "one", 1]);
    await write("two");
    expect([await key(), await key(), openings]).toEqual(["two", "two", 2]);
    elapsed = 60_001;
    expect([await key(), openings]).toEqual(["two", 3]);
  });

  it("is refused over its own rate limit", async () => {
    await store("limited", { secret: SECRET, rate_limit: 2, rate_limit_period: 2_678_400 });
    const answers = await Promise.all(
      [1, 2, 3, 4].map(() => gate.send("limited/openai/x", jsonInit(chat))),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200, 200, 429, 429,
    ]);
    const refused = answers.find(({ status }) => status === 429);
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await refused?.text()).not.toContain(SECRET);
  });

  it.each([
    [{ secret: SECRET, alias: "a b" }, 400, /alias/],
    [{ secret: SECRET, provider_slug: "nope" }, 400, /provider "nope"/],
    [{}, 400, /secret: a provider key is needed/],
    [{ secret_id: "unknown" }, 400, /secret_id/],
    [{ secret: "two\nlines" }, 400, /secret/],
    [{ secret: "" }, 400, /secret/],
    [{ secret: SECRET, rate_limit: 0 }, 400, /rate_limit/],
    [{ secret: SECRET, alias: "default" }, 409, /already exists/],
  ])("is refused with %j", async (more, status, message) => {
    const answer = await store("keys", more);
    expect(answer.status).toBe(status);
    expect(answer.body.errors[0]?.message).toMatch(message);
  });

  it("needs the permission to edit, and a gateway that exists", async () => {
    const headers = { authorization: "Bearer read-only" };
    const path = "/gateways/keys/provider_configs";
    expect((await gate.manage(path, { headers })).status).toBe(200);
    const denied = await gate.manage(path, { method: "POST", headers, body: "{}" });
    expect(denied.status).toBe(403);
    expect((await gate.manage("/gateways/none/provider_configs")).status).toBe(404);
    expect((await gate.manage(`${path}?page=9`)).body.result).toEqual([]);
  });

  it("goes with its gateway", async () => {
    await createGateway("gone", false);
    await store("gone", { secret: SECRET });
    await gate.manage("/gateways/gone", { method: "DELETE" });
    await createGateway("gone", false);
    expect((await gate.manage("/gateways/gone/provider_configs")).body.result).toEqual([]);
  });
});

type Config = { id: string; alias: string; secret_id: string; default_config: boolean };

describe("a gateway with byok_only", () => {
  it("uses no key of the configuration", async () => {
    const refused = await gate.send("byok/groq/chat/completions", jsonInit(chat));
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain("customers' own keys");
    const own = jsonInit(chat, { authorization: "Bearer sk-own" });
    expect((await gate.send("byok/groq/chat/completions", own)).status).toBe(200);
    await store("byok", { provider_slug: "groq", secret: SECRET });
    expect((await gate.send("byok/groq/chat/completions", jsonInit(chat))).status).toBe(200);
    expect(lastSent()["authorization"]).toBe(`Bearer ${SECRET}`);
    expect((await gate.send("byok/echo/chat/completions", jsonInit(chat))).status).toBe(200);
  });
});

describe("the uses that limits count", () => {
  const rule = { limit: 2, window: 10 * 365 * 86_400, technique: "fixed" } as const;
  const place = { scope: "", rule: "k" };

  it("outlive a restart", async () => {
    const data = `limits-${gate.platform.system.id()}`;
    const take = async (times: number) => {
      const platform = await openPlatform({ data });
      const records = recordStore(platform).ofGateway({ account: "acme", gateway: "counted" });
      const refused: boolean[] = [];
      for (let i = 0; i < times; i++) {
        const use = await records.takeUse(place, { ...rule, limitType: "requests" });
        refused.push("refused" in use);
      }
      await platform.close();
      return refused;
    };
    expect(await take(3)).toEqual([false, false, true]);
    expect(await take(1)).toEqual([true]);
  });

  it("of a cost let requests in until it is used up, and are forgotten with their gateway", async () => {
    const records = recordStore(gate.platform).ofGateway({ account: "acme", gateway: "costs" });
    const take = () => records.takeUse(place, { ...rule, limitType: "cost" });
    const spend = async (cost: number) => {
      const use = await take();
      if ("entries" in use) await records.addCosts([{ entries: use.entries, amounts: { cost } }]);
      return "entries" in use;
    };
    expect([await spend(1.5), await spend(3), await spend(0)]).toEqual([true, true, false]);
    await records.clear();
    expect(await spend(0)).toBe(true);
  });
});

it("one stored key of a provider is its default, however many are stored at once", async () => {
  const aliases = ["d1", "d2", "d3", "d4", "d5"];
  await Promise.all(
    aliases.map((alias) => store("shared", { alias, provider_slug: "mistral", secret: SECRET })),
  );
  const { body } = await gate.manage("/gateways/shared/provider_configs?per_page=100");
  const configs = body.result as { provider_slug: string; default_config: boolean }[];
  const found = configs.filter(({ provider_slug }) => provider_slug === "mistral");
  expect(found).toHaveLength(aliases.length);
  expect(found.filter((config) => config.default_config)).toHaveLength(1);
});

describe("the master key", () => {
  const records = () => recordStore(gate.platform).ofGateway({ account: "acme", gateway: "keys" });

  it("may be rotated: what an older one sealed opens and is sealed anew", async () => {
    const options: GatewayOptions = {
      platform: gate.platform,
      auth: "off",
      masterKey: "the next master key",
      formerMasterKeys: ["a master key for tests"],
    };
    const sealed = async () =>
      (await records().find("provider_config", "openai/default"))?.body["sealed"];
    const before = await sealed();
    const { secret_id } = (await records().find("provider_config", "openai/default"))?.body ?? {};
    await store("keys", { alias: "sharing", default_config: false, secret_id });
    const request = () =>
      gateway(options).fetch(
        new Request("http://gateway.test/v1/acme/keys/openai/x", {
          method: "POST",
          body: "{}",
        }),
      );
    expect((await request()).status).toBe(200);
    await eventually(async () => (await sealed()) !== before, "it is sealed anew");
    const only = vault(["the next master key"], gate.platform.system);
    const config = await records().find("provider_config", "openai/default");
    const opened = await only.open(
      records(),
      config?.body["secret_id"] as string,
      config?.body["sealed"] as string,
    );
    expect(opened).toEqual({ text: SECRET, resealed: null });
    const sharing = await records().find("provider_config", "openai/sharing");
    expect(sharing?.body["sealed"]).toBe(config?.body["sealed"]);
  });

  it("that is wrong opens nothing", async () => {
    const wrong = vault(["some other master key"], gate.platform.system);
    const box = await vault(["the right master key"], gate.platform.system).seal(
      records(),
      "x",
      SECRET,
    );
    await expect(wrong.open(records(), "x", box)).rejects.toThrow(/cannot be opened/);
  });

  it("is made beside the data when there is none, and is left behind by a later one", async () => {
    const none = vault([], gate.platform.system);
    const box = await none.seal(records(), "y", SECRET);
    expect(await none.open(records(), "y", box)).toEqual({ text: SECRET, resealed: null });
    const later = await vault(["a later master key"], gate.platform.system).open(
      records(),
      "y",
      box,
    );
    expect(later.text).toBe(SECRET);
    expect(later.resealed).not.toBeNull();
  });

  it("binds a secret to its record", async () => {
    const one = vault(["a master key for tests"], gate.platform.system);
    const box = await one.seal(records(), "z", SECRET);
    await expect(one.open(records(), "other", box)).rejects.toThrow(/cannot be opened/);
  });

  it("is refused when it is short", () => {
    expect(() => gateway({ platform: gate.platform, auth: "off", masterKey: "short" })).toThrow(
      /at least 16/,
    );
  });
});
