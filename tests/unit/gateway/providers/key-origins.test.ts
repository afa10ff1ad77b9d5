import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordStore } from "../../../../core/gateway/account/records/records.ts";
import {
  chat,
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

const SECRET = "sk-of-the-operator-0123456789";
const HOME = "https://llm.example.com/v1";
const AWAY = "https://stranger.example.net/v1";

let gate: GatewayUnderTest;
let egress: FakeTransport;

beforeAll(async () => {
  egress = fakeTransport(() => jsonReply({}));
  gate = await gatewayUnderTest({ masterKey: "a master key for tests" }, { egress });
  await gate.create("keys");
});
afterAll(() => gate.close());

interface Made {
  readonly id: string;
  readonly secret_id: string;
  readonly origin?: string;
}

const call = async (method: string, path: string, body?: object) => {
  const init = body === undefined ? { method } : { method, ...jsonInit(body) };
  const { status, body: answer } = await gate.manage(path, init);
  return { status, made: answer.result as Made, error: answer.errors[0]?.message ?? "" };
};
const provider = async (slug: string, base_url = HOME) =>
  (await call("POST", "/custom-providers", { slug, name: slug, base_url, enable: true })).made.id;
const configs = "/gateways/keys/provider_configs";
const store = (provider_slug: string, more: object = { secret: SECRET }) =>
  call("POST", configs, { alias: "default", default_config: true, provider_slug, ...more });
const ask = (segment: string) => gate.send(`keys/${segment}/chat/completions`, jsonInit(chat));
/** The hosts to which a secret was sent, by the requests so far. */
const receivers = () =>
  egress.requests
    .filter((sent) => JSON.stringify(sentHeaders(sent)).includes(SECRET))
    .map(({ url }) => new URL(url).host);

describe("a stored key of a custom provider", () => {
  it("belongs to the origin that the provider has, and says so", async () => {
    const id = await provider("moved");
    const { made } = await store("custom-moved");
    expect(made.origin).toBe("https://llm.example.com");
    expect((await ask("custom-moved")).status).toBe(200);
    expect(receivers()).toEqual(["llm.example.com"]);
    await call("PATCH", `/custom-providers/${id}`, { base_url: "https://llm.example.com/v2" });
    expect((await ask("custom-moved")).status).toBe(200);
  });

  it.each([
    ["another host", AWAY],
    ["another port", "https://llm.example.com:8443/v1"],
    ["a host below it", "https://llm.example.com.stranger.example.net/v1"],
  ])("does not follow its provider to %s", async (where, base_url) => {
    const slug = `to-${where.replaceAll(" ", "-")}`;
    const id = await provider(slug);
    const { made } = await store(`custom-${slug}`);
    expect((await call("PATCH", `/custom-providers/${id}`, { base_url })).status).toBe(200);
    const before = egress.requests.length;
    const refused = await ask(`custom-${slug}`);
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringMatching(/stored key \\"default\\".*another host.*[sS]tore the key again/),
    ]);
    expect(egress.requests).toHaveLength(before);
    // Neither a change of something else nor the same secret under its id moves it.
    for (const change of [{ alias: "default" }, { secret_id: made.secret_id }])
      await call("PATCH", `${configs}/${made.id}`, change);
    expect((await ask(`custom-${slug}`)).status).toBe(400);
    const again = await call("PATCH", `${configs}/${made.id}`, { secret: "sk-of-the-new-host-0" });
    expect([again.status, again.made.origin]).toEqual([200, new URL(base_url).origin]);
    expect((await ask(`custom-${slug}`)).status).toBe(200);
    expect(sentHeaders(egress.requests.at(-1))["authorization"]).toBe(
      "Bearer sk-of-the-new-host-0",
    );
  });

  it("serves again once its provider is back", async () => {
    const id = await provider("back");
    await store("custom-back");
    await call("PATCH", `/custom-providers/${id}`, { base_url: AWAY });
    expect((await ask("custom-back")).status).toBe(400);
    await call("PATCH", `/custom-providers/${id}`, { base_url: HOME });
    expect((await ask("custom-back")).status).toBe(200);
  });

  it("waits for no other provider that takes its name", async () => {
    const first = await provider("taken");
    await store("custom-taken");
    await call("DELETE", `/custom-providers/${first}`);
    const second = await provider("other", AWAY);
    await call("PATCH", `/custom-providers/${second}`, { slug: "taken" });
    expect((await ask("custom-taken")).status).toBe(400);
    await call("DELETE", `/custom-providers/${second}`);
    await provider("taken", AWAY);
    expect((await ask("custom-taken")).status).toBe(400);
    expect(receivers()).not.toContain("stranger.example.net");
  });
});

describe("a stored secret", () => {
  it("is attached to a provider of the same origin only", async () => {
    const known = (await store("openai")).made.secret_id;
    await provider("lab");
    await provider("lab-two", "https://llm.example.com/v2");
    await provider("away", AWAY);
    await provider("same-as-openai", "https://api.openai.com/v1");
    const own = (await store("custom-lab")).made.secret_id;
    const attached = (slug: string, secret_id: string) =>
      store(slug, { alias: "attached", default_config: true, secret_id });
    for (const [slug, id] of [
      ["custom-away", known],
      ["custom-away", own],
      ["custom-lab", known],
      ["openai", own],
      ["groq", known],
    ] as const) {
      const { status, error } = await attached(slug, id);
      expect([slug, status, error]).toEqual([
        slug,
        400,
        expect.stringMatching(/secret_id: .*another host.*give "secret"/),
      ]);
    }
    expect((await attached("openai", known)).status).toBe(200);
    expect((await attached("custom-lab", own)).status).toBe(200);
    expect((await attached("custom-lab-two", own)).made.origin).toBe("https://llm.example.com");
    expect((await attached("custom-same-as-openai", known)).status).toBe(200);
  });

  it("of a provider that has moved is attached to nothing there", async () => {
    const id = await provider("leaving");
    const { secret_id } = (await store("custom-leaving")).made;
    await call("PATCH", `/custom-providers/${id}`, { base_url: AWAY });
    await provider("waiting", AWAY);
    for (const slug of ["custom-leaving", "custom-waiting"])
      expect((await store(slug, { alias: "b", default_config: true, secret_id })).status).toBe(400);
    expect(receivers()).not.toContain("stranger.example.net");
  });
});

describe("a key that was stored before keys had origins", () => {
  const records = () => {
    const all = recordStore(gate.platform);
    return {
      account: all.ofAccount("acme"),
      gateway: all.ofGateway({ account: "acme", gateway: "keys" }),
    };
  };
  /** A provider and its key as earlier versions wrote them. */
  const early = async (slug: string) => {
    const id = await provider(slug);
    const key = (await store(`custom-${slug}`)).made;
    const { account, gateway } = records();
    const config = await gateway.get({ collection: "provider_config", id: key.id });
    const { origin: _, ...body } = config.body;
    await gateway.write({ replaces: [{ ...config, body }] });
    const custom = await account.get({ collection: "custom_provider", id });
    const { early_key_origin: __, ...rest } = custom.body;
    await account.write({ replaces: [{ ...custom, body: rest }] });
    return { id, key };
  };

  it("goes on where its provider is, and stays there", async () => {
    const { id } = await early("early");
    expect((await ask("custom-early")).status).toBe(200);
    for (const base_url of [AWAY, "https://third.example.org"]) {
      const { made } = await call("PATCH", `/custom-providers/${id}`, { base_url });
      expect(made).not.toHaveProperty("early_key_origin");
      expect((await ask("custom-early")).status).toBe(400);
    }
    await call("PATCH", `/custom-providers/${id}`, { base_url: HOME });
    expect((await ask("custom-early")).status).toBe(200);
  });

  it("can be attached to its own origin only", async () => {
    const { key } = await early("early-shared");
    await provider("early-away", AWAY);
    const { secret_id } = key;
    const attach = async (slug: string) =>
      (await store(slug, { alias: "b", default_config: false, secret_id })).status;
    expect(await attach("custom-early-away")).toBe(400);
    expect(await attach("custom-early-shared")).toBe(200);
  });

  it("serves no provider that takes the name of its own", async () => {
    const { id } = await early("early-gone");
    await call("DELETE", `/custom-providers/${id}`);
    const again = await provider("early-gone", AWAY);
    expect((await ask("custom-early-gone")).status).toBe(400);
    await call("DELETE", `/custom-providers/${again}`);
    const other = await early("early-other");
    await call("PATCH", `/custom-providers/${other.id}`, { slug: "early-gone" });
    expect((await ask("custom-early-gone")).status).toBe(400);
  });
});

it("a key in the file is for a provider whose address is in the file, too", async () => {
  const gateways = { team: { keys: { "custom-lab": SECRET } } };
  await expect(gatewayUnderTest({ gateways })).rejects.toMatchObject({
    kind: "invalid_options",
    message: expect.stringMatching(/gateways\.team\.keys\.custom-lab: .*providers/),
  });
  for (const options of [
    { gateways, providers: { "custom-lab": { baseUrl: HOME } } },
    { gateways: { team: { ...gateways.team, providers: { "custom-lab": { baseUrl: HOME } } } } },
  ])
    await (await gatewayUnderTest(options)).close();
});
