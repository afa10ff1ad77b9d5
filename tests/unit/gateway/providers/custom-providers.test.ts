import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TransportError } from "../../../../core/net/transport-error.ts";
import type { Platform } from "../../../../core/ports.ts";
import { gateway } from "../../../../core/gateway/mod.ts";
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

let gate: GatewayUnderTest;
let egress: FakeTransport;
let app: ReturnType<typeof gateway>;

beforeAll(async () => {
  gate = await gatewayUnderTest({
    providers: { "custom-declared": { baseUrl: "https://declared.test" } },
  });
  egress = fakeTransport((_, index) => jsonReply({ index }));
  const platform: Platform = { ...gate.platform, egress };
  app = gateway({ platform, auth: "off", gateways: { open: { authentication: false } } });
});
afterAll(() => gate.close());

const base = { base_url: "https://llm.example.com/api/v1", name: "Mine", slug: "mine" };
const create = (more: object) =>
  gate.manage("/custom-providers", { method: "POST", ...jsonInit({ ...base, ...more }) });
const ask = (path: string, headers: Record<string, string> = {}) =>
  app.fetch(
    new Request(`http://gateway.test/v1/acme/open/${path}`, {
      method: "POST",
      ...jsonInit(chat, headers),
    }),
  );

type Provider = { id: string; slug: string; headers?: string };

it("gateway() takes no provider that no request could reach", async () => {
  for (const [slug, settings] of [
    ["opnai", {}],
    ["custom-x", { apiKey: "k" }],
    ["baseten", {}],
  ] as const) {
    await expect(gatewayUnderTest({ providers: { [slug]: settings } })).rejects.toMatchObject({
      kind: "invalid_options",
      message: expect.stringContaining(`"${slug}"`),
    });
  }
});

describe("a custom provider", () => {
  let id = "";
  it("is created switched off and answers only once it is enabled", async () => {
    const { status, body } = await create({});
    const made = body.result as Provider;
    id = made.id;
    expect([status, made]).toMatchObject([200, { ...base, enable: false, beta: false }]);
    const off = await ask("custom-mine/chat/completions");
    expect([off.status, await off.text()]).toMatchObject([
      400,
      expect.stringContaining("not enabled"),
    ]);
    const put = { method: "PUT", ...jsonInit({ enable: true }) };
    expect((await gate.manage(`/custom-providers/${id}`, put)).body.result).toMatchObject({
      ...base,
      enable: true,
    });
    expect((await ask("custom-mine/chat/completions?a=1")).status).toBe(200);
    expect(egress.requests.at(-1)?.url).toBe("https://llm.example.com/api/v1/chat/completions?a=1");
    expect(gate.transport.requests).toEqual([]);
  });

  it("gets its headers, which are sealed and shown by previews", async () => {
    const headers = JSON.stringify({
      "X-Team": "blue",
      Authorization: "Bearer sk-custom-0123456789",
    });
    const patch = { method: "PATCH", ...jsonInit({ headers }) };
    const shown = (await gate.manage(`/custom-providers/${id}`, patch)).body.result as Provider;
    expect(JSON.parse(shown.headers ?? "")).toEqual({
      "x-team": "blue",
      authorization: "Bea…6789",
    });
    await ask("custom-mine/x", { "x-team": "red" });
    expect(sentHeaders(egress.requests.at(-1))).toMatchObject({
      "x-team": "blue",
      authorization: "Bearer sk-custom-0123456789",
    });
    await ask("custom-mine/x", { authorization: "Bearer sk-own" });
    expect(sentHeaders(egress.requests.at(-1))["authorization"]).toBe("Bearer sk-own");
  });

  it("takes its headers to no other host than the one that they were given for", async () => {
    const change = async (body: object): Promise<number> =>
      (await gate.manage(`/custom-providers/${id}`, { method: "PATCH", ...jsonInit(body) })).status;
    const base_url = "https://elsewhere.example.com/api/v1";
    expect(await change({ base_url })).toBe(400);
    expect(await change({ base_url: "https://llm.example.com/api/v2" })).toBe(200);
    expect(await change({ base_url: base.base_url, name: "Mine" })).toBe(200);
    const headers = '{"x-team":"blue"}';
    expect(await change({ base_url, headers })).toBe(200);
    expect(await change({ base_url: base.base_url, headers: null })).toBe(200);
    expect(await change({ base_url })).toBe(200);
    expect(await change({ base_url: base.base_url })).toBe(200);
  });

  it("keeps its base URL without the spaces that were pasted with it", async () => {
    const { body } = await create({ base_url: " https://llm.example.com/api \n", slug: "pasted" });
    expect(body.result).toMatchObject({ base_url: "https://llm.example.com/api" });
    await gate.manage(`/custom-providers/${(body.result as Provider).id}`, { method: "DELETE" });
  });

  it("answers unified requests by its name", async () => {
    const body = { ...chat, model: "custom-mine/llama" };
    const request = new Request("http://gateway.test/v1/acme/open/compat/chat/completions", {
      method: "POST",
      ...jsonInit(body),
    });
    expect((await app.fetch(request)).status).toBe(200);
    expect(JSON.parse(egress.bodies.at(-1) ?? "")).toMatchObject({ model: "llama" });
  });

  it("leaves its cached answers behind when it changes", async () => {
    const cached = { "cf-aig-cache-ttl": "300" };
    const status = async () =>
      (await ask("custom-mine/cached", cached)).headers.get("cf-aig-cache-status");
    expect([await status(), await status()]).toEqual(["MISS", "HIT"]);
    await gate.manage(`/custom-providers/${id}`, { method: "PUT", ...jsonInit({ name: "Other" }) });
    expect([await status(), await status()]).toEqual(["MISS", "HIT"]);
  });

  it("that the egress guard refuses is a failed provider", async () => {
    egress.behave = () => {
      throw new TransportError("refused", "not public");
    };
    const refused = await ask("custom-mine/x");
    expect([refused.status, await refused.json()]).toMatchObject([
      502,
      { error: [{ code: 2005 }] },
    ]);
    egress.behave = () => jsonReply({});
  });

  it("has an address and can hold a stored key", async () => {
    const url = (await gate.manage("/gateways/open/url/custom-mine")).body.result;
    expect(url).toBe("/v1/acme/open/custom-mine");
    const config = { alias: "default", default_config: true, provider_slug: "custom-mine" };
    const body = jsonInit({ ...config, secret: "sk-of-the-gateway-00000" });
    const made = await gate.manage("/gateways/open/provider_configs", { method: "POST", ...body });
    expect(made.status).toBe(200);
    await ask("custom-mine/x");
    expect(sentHeaders(egress.requests.at(-1))["authorization"]).toBe(
      "Bearer sk-of-the-gateway-00000",
    );
  });

  it("is listed by position and name, found by search, and gone after DELETE", async () => {
    await create({ slug: "first", name: "Zoo", position: -1, enable: true, beta: true });
    await create({ slug: "last", name: "Aardvark", position: 5 });
    const slugs = async (query: string) =>
      ((await gate.manage(`/custom-providers?${query}`)).body.result as Provider[]).map(
        ({ slug }) => slug,
      );
    expect(await slugs("")).toEqual(["first", "mine", "last"]);
    expect(await slugs("search=zoo")).toEqual(["first"]);
    expect(await slugs("enable=true")).toEqual(["first", "mine"]);
    expect(await slugs("beta=false&per_page=1&page=2")).toEqual(["last"]);
    expect(await slugs("page=7")).toEqual([]);
    expect((await gate.manage("/custom-providers?enable=yes")).status).toBe(400);
    expect(
      (await gate.manage(`/custom-providers/${id}`, { method: "DELETE" })).body.result,
    ).toMatchObject({ id });
    expect((await gate.manage(`/custom-providers/${id}`)).status).toBe(404);
    expect((await ask("custom-mine/x")).status).toBe(400);
  });

  it.each([
    [{ base_url: "http://llm.example.com" }, 400, /base_url: .*https/],
    [{ base_url: "https://127.0.0.1/v1" }, 400, /not a public address/],
    [{ base_url: "https://localhost" }, 400, /not a public address/],
    [{ base_url: "https://user:pw@llm.example.com" }, 400, /password/],
    [{ base_url: "https://llm.example.com/?key=1" }, 400, /query/],
    [{ base_url: "llm" }, 400, /base_url/],
    [{ slug: "Has Space" }, 400, /slug/],
    [{ name: "" }, 400, /name/],
    [{ headers: "[]" }, 400, /headers/],
    [{ headers: '{"host":"evil"}' }, 400, /headers/],
    [{ headers: '{"a":"b\\r\\nc: d"}' }, 400, /headers/],
    [{ slug: "declared" }, 409, /declared in the configuration/],
    [{ slug: "first" }, 409, /already exists/],
  ])("is refused with %j", async (more, status, message) => {
    const answer = await create({ slug: "fresh", ...more });
    expect(answer.status).toBe(status);
    expect(answer.body.errors[0]?.message).toMatch(message);
  });
});
