import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  API_TOKEN,
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, sentHeaders } from "../../../fakes/gateway-transport.ts";

interface Shown {
  readonly id: string;
  readonly key: string;
  readonly preview: string;
  readonly enabled: boolean;
  readonly usage: readonly { limitType: string; used: number; remaining: number }[];
}

const STORED = "sk-stored-0123456789abcdef";
let gate: GatewayUnderTest;

beforeEach(async () => {
  gate = await gatewayUnderTest({ metrics: true });
  for (const slug of ["openai", "anthropic", "google-ai-studio", "azure-openai"]) {
    const body = { alias: "default", default_config: true, provider_slug: slug, secret: STORED };
    await gate.manage("/gateways/closed/provider_configs", { method: "POST", ...jsonInit(body) });
  }
  gate.transport.behave = () => jsonReply(answer());
});
afterEach(() => gate.close());

const gpt = { ...chat, model: "gpt-4o" };
const answer = (tokensIn = 100, tokensOut = 50) => ({
  model: "gpt-4o",
  choices: [{ message: { role: "assistant", content: "hi" } }],
  usage: { prompt_tokens: tokensIn, completion_tokens: tokensOut },
});
async function make(settings: object = {}): Promise<Shown> {
  const init = { method: "POST", ...jsonInit({ name: "team", ...settings }) };
  const { status, body } = await gate.manage("/virtual-keys", init);
  if (status !== 200) throw new Error(JSON.stringify(body.errors));
  return body.result;
}
const change = (id: string, settings: object) =>
  gate.manage(`/virtual-keys/${id}`, { method: "PATCH", ...jsonInit(settings) });
const ask = (key: string, body: object = gpt, path = "closed/openai/v1/chat/completions") =>
  gate.send(path, jsonInit(body, { authorization: `Bearer ${key}` }));
const messageOf = async (response: Response): Promise<string> =>
  JSON.stringify(await response.json());
describe("a virtual key", () => {
  it("is not made with a field that keys do not have, such as a misnamed limit", async () => {
    await expect(make({ budget: 5 })).rejects.toThrow('Unknown field \\"budget\\"');
  });

  it("is shown the models that it allows", async () => {
    const idsOf = async (settings: object): Promise<string[]> => {
      const { key } = await make(settings);
      const list = await gate.send("closed/compat/models", {
        method: "GET",
        headers: { authorization: `Bearer ${key}` },
      });
      const { data } = (await list.json()) as { data: { id: string }[] };
      return data.map(({ id }) => id);
    };
    const models = ["openai/gpt-5.4-*", "anthropic/claude-next", "groq/llama-3.1-8b-instant"];
    expect(await idsOf({ models })).toEqual([
      "openai/gpt-5.4-pro",
      "openai/gpt-5.4-mini",
      "openai/gpt-5.4-nano",
      "anthropic/claude-next",
    ]);
    expect(await idsOf({})).toContain("openai/gpt-4o");
    // No key of these aliases is stored.
    expect(await idsOf({ aliases: ["other"] })).toEqual(["echo/echo-demo"]);
  });

  it("opens a gateway in the query, as SDKs of Google send their keys", async () => {
    const { key, id } = await make();
    const path = "closed/google-ai-studio/v1beta/models/m:generateContent";
    const response = await gate.send(`${path}?alt=sse&key=${key}&x=1`, jsonInit({}));
    expect(response.status).toBe(200);
    const sent = gate.transport.requests.at(-1);
    expect(sent?.url).toMatch(/:generateContent\?alt=sse&x=1$/);
    expect(sentHeaders(sent)["x-goog-api-key"]).toContain(STORED);
    const [row] = await gate.logs("closed", 1);
    expect(row).toMatchObject({ caller: `key:${id}` });
    const found = await gate.manage(`/gateways/closed/logs?search=${id}`);
    expect(found.body.result).toMatchObject([{ id: row?.["id"] }]);
    expect(JSON.stringify([row, sent])).not.toContain(key);
    // Only where a provider takes its key, and only a key that is one.
    const other = `${key.slice(0, -1)}${key.endsWith("x") ? "y" : "x"}`;
    for (const query of [`user=${key}`, `key=${other}`, `key=${API_TOKEN}`])
      expect((await gate.send(`${path}?${query}`, jsonInit({}))).status).toBe(401);
  });

  it("in the query, or in the headers of a universal step, reaches no provider", async () => {
    const { key } = await make();
    const step = {
      provider: "openai",
      endpoint: "v1/chat/completions",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      query: gpt,
    };
    const token = { "cf-aig-authorization": `Bearer ${API_TOKEN}` };
    for (const gateway of ["open", "closed"]) {
      const answers = [
        await gate.send(
          `${gateway}/google-ai-studio/v1beta/models/m:generateContent?key=${key}`,
          jsonInit({}),
        ),
        await gate.send(gateway, jsonInit([step])),
        await gate.send(gateway, jsonInit([step], token)),
      ];
      for (const one of answers) await one.text();
    }
    const sent = gate.transport.requests.map(({ url, headers }, at) =>
      JSON.stringify([url, headers, gate.transport.bodies[at]]),
    );
    expect(sent.filter((text) => text.includes(key))).toEqual([]);
  });

  it("is shown once, and kept as a hash", async () => {
    const made = await make({ owner: "ann", tags: ["blue"] });
    expect(made.key).toMatch(/^causey_vk_[0-9A-Za-z]{46}$/);
    expect(made.preview).toBe(`causey_vk_…${made.key.slice(-4)}`);
    for (const path of ["/virtual-keys", `/virtual-keys/${made.id}`, "/virtual-keys?owner=ann"]) {
      const text = JSON.stringify((await gate.manage(path)).body);
      expect(text).toContain(made.id);
      expect(text).not.toContain(made.key);
      expect(text).not.toContain("hash");
    }
    expect((await gate.manage("/virtual-keys?owner=bob")).body.result).toEqual([]);
    expect((await gate.manage("/virtual-keys?search=BLUE")).body.result).toHaveLength(1);
    expect((await gate.manage("/virtual-keys?page=9")).body.result).toEqual([]);
  });

  it.each([
    ["cf-aig-authorization", "openai/responses", "authorization", (key: string) => `Bearer ${key}`],
    ["gw-aig-authorization", "openai/responses", "authorization", (key: string) => `Bearer ${key}`],
    ["authorization", "openai/responses", "authorization", (key: string) => `Bearer ${key}`],
    ["x-api-key", "anthropic/v1/messages", "x-api-key", (key: string) => key],
    [
      "x-goog-api-key",
      "google-ai-studio/v1beta/models/g:generateContent",
      "x-goog-api-key",
      (key: string) => key,
    ],
    ["api-key", "azure-openai/r/d/chat/completions", "api-key", (key: string) => key],
    ["authorization", "compat/chat/completions", "authorization", (key: string) => `Bearer ${key}`],
  ])(
    "opens a gateway in %s for %s, and reaches no provider",
    async (header, path, native, form) => {
      const { key, id } = await make();
      const body = path.startsWith("compat") ? { ...gpt, model: "openai/gpt-4o" } : gpt;
      const response = await gate.send(`closed/${path}`, jsonInit(body, { [header]: form(key) }));
      expect(response.status).toBe(200);
      const sent = gate.transport.requests.at(-1);
      expect(sentHeaders(sent)[native]).toContain(STORED);
      expect(JSON.stringify(sent?.headers)).not.toContain(key);
      const [row] = await gate.logs("closed", 1);
      expect(row).toMatchObject({ caller: `key:${id}` });
      expect(JSON.stringify(row)).not.toContain(key);
    },
  );

  it("works below the REST inference API", async () => {
    const { key } = await make({ gateways: ["closed"] });
    const send = (gateway: string) =>
      gate.manageRaw("/../ai/v1/chat/completions", {
        method: "POST",
        ...jsonInit(
          { ...gpt, model: "openai/gpt-4o" },
          { authorization: `Bearer ${key}`, "cf-aig-gateway-id": gateway },
        ),
      });
    expect((await send("closed")).status).toBe(200);
    expect((await send("open")).status).toBe(401);
  });

  it("may name a gateway before it is made, with a note where another has nearly its name", async () => {
    const note = (gateway: string, meant: string): object => ({
      code: 10415,
      message: `gateways: there is no gateway "${gateway}" yet: did you mean "${meant}"?`,
    });
    const made = async (gateways: string[]): Promise<unknown> => {
      const init = { method: "POST", ...jsonInit({ name: "k", gateways }) };
      const { status, body } = await gate.manage("/virtual-keys", init);
      return [status, body.messages];
    };
    expect(await made(["defualt"])).toEqual([200, [note("defualt", "default")]]);
    expect(await made(["default", "closed", "quite-another-one"])).toEqual([200, []]);
    const { id } = await make({ gateways: ["closed"] });
    const changedTo = async (gateways: string[]): Promise<unknown> => {
      const { status, body } = await change(id, { gateways });
      return [status, body.messages];
    };
    expect(await changedTo(["closde"])).toEqual([200, [note("closde", "closed")]]);
    expect(await changedTo(["closde"])).toEqual([200, []]);
    expect(await changedTo(["closed"])).toEqual([200, []]);
  });

  it("is refused, with the reason, where it does not count", async () => {
    const made = await make({ gateways: ["closed"] });
    const cases: [() => Promise<unknown>, string][] = [
      [() => change(made.id, { enabled: false }), "disabled"],
      [() => change(made.id, { enabled: true, expires_at: "2020-01-01T00:00:00Z" }), "expired"],
      [() => change(made.id, { expires_at: null, gateways: ["other"] }), "not for this gateway"],
      [() => gate.manage(`/virtual-keys/${made.id}`, { method: "DELETE" }), "not known"],
    ];
    expect((await ask(made.key)).status).toBe(200);
    for (const [before, reason] of cases) {
      await before();
      const refused = await ask(made.key);
      expect([refused.status, await messageOf(refused)]).toEqual([
        401,
        expect.stringContaining(reason),
      ]);
      // Neither does it pass for a stranger's where authentication is off.
      expect((await ask(made.key, gpt, "open/openai/x")).status).toBe(401);
    }
    expect(gate.transport.requests).toHaveLength(1);
  });

  it("is of its account only, and manages nothing", async () => {
    const { key } = await make();
    const url = "http://gateway.test/v1/other/default/openai/x";
    const init = { method: "POST", ...jsonInit(gpt, { authorization: `Bearer ${key}` }) };
    expect((await gate.app.fetch(new Request(url, init))).status).toBe(401);
    const headers = { authorization: `Bearer ${key}` };
    expect((await gate.manageRaw("/virtual-keys", { headers })).status).toBe(401);
    expect((await gate.manageRaw("/gateways", { headers })).status).toBe(401);
  });

  it("is changed and rotated by known fields only: a misspelt one is refused, a newer one told", async () => {
    const { id } = await make();
    for (const [method, path, misspelt, right] of [
      ["PATCH", id, { enabeld: false }, "enabled"],
      ["POST", `${id}/rotate`, { grace_second: 60 }, "grace_seconds"],
    ] as const) {
      const send = (body: object): ReturnType<GatewayUnderTest["manage"]> =>
        gate.manage(`/virtual-keys/${path}`, { method, ...jsonInit(body) });
      const refused = await send(misspelt);
      expect([refused.status, refused.body.errors[0]?.message]).toEqual([
        400,
        expect.stringContaining(`did you mean "${right}"?`),
      ]);
      expect((await send({ novelty: 1 })).body).toMatchObject({
        success: true,
        messages: [{ code: 10415, message: 'Unknown field "novelty" (ignored)' }],
      });
    }
  });

  it("is rotated: the former secret opens for the grace that was asked for, and no longer", async () => {
    const made = await make();
    const rotate = async (body?: object): Promise<Shown> =>
      (
        await gate.manage(`/virtual-keys/${made.id}/rotate`, {
          method: "POST",
          ...(body === undefined ? {} : jsonInit(body)),
        })
      ).body.result;
    const second = await rotate({ grace_seconds: 3600 });
    expect(second.id).toBe(made.id);
    expect(second.key).not.toBe(made.key);
    expect((await ask(made.key)).status).toBe(200);
    expect((await ask(second.key)).status).toBe(200);
    const third = await rotate();
    for (const [key, status] of [
      [made.key, 401],
      [second.key, 401],
      [third.key, 200],
    ] as const)
      expect((await ask(key)).status).toBe(status);
  });

  it.each([
    [{ name: "" }, "name"],
    [{ gateways: [] }, "gateways"],
    [{ gateways: ["a/b"] }, "gateways"],
    [{ models: ["gpt-4o"] }, "models"],
    [{ limits: [{ limitType: "cost", limit: -1 }] }, "limits"],
    [{ limits: [{ limitType: "seconds", limit: 1 }] }, "limits"],
    [{ limits: [{ limitType: "tokens", limit: 1.5 }] }, "limits"],
    [{ limits: [1, 2].map((limit) => ({ limitType: "requests", limit, window: 60 })) }, "limits"],
    [{ expires_at: "tomorrow" }, "expires_at"],
    [{ expires_at: 1e300 }, "expires_at: expected an RFC 3339 date-time"],
    [{ expires_at: -1e300 }, "expires_at: expected an RFC 3339 date-time"],
    [{ expires_at: "2020-01-01T00:00:00Z" }, "expires_at: 2020-01-01T00:00:00Z is in the past"],
    [{ on_unknown: "guess" }, "on_unknown"],
  ])("is not made of %j", async (settings, field) => {
    const init = { method: "POST", ...jsonInit({ name: "bad", ...settings }) };
    const { status, body } = await gate.manage("/virtual-keys", init);
    expect(status).toBe(400);
    expect(body.errors[0]?.message).toContain(field);
  });

  it("is made by who may edit, and read by who may read", async () => {
    const headers = { authorization: "Bearer read-only" };
    expect((await gate.manageRaw("/virtual-keys", { headers })).status).toBe(200);
    const init = { method: "POST", ...jsonInit({ name: "x" }, headers) };
    expect((await gate.manageRaw("/virtual-keys", init)).status).toBe(403);
  });
});

describe("a virtual key for certain models", () => {
  const restricted = () =>
    make({
      models: ["openai/gpt-4o-mini", "anthropic/claude-*", "openrouter/openai/gpt-4o-mini"],
      paths: ["POST openai/x"],
    });
  const mini = { ...chat, model: "gpt-4o-mini" };

  it("is for those", async () => {
    const { key } = await restricted();
    expect((await ask(key, mini)).status).toBe(200);
    for (const model of ["GPT-4o-mini", "gpt-4o-mini-2024-07-18"])
      expect((await ask(key, { ...chat, model })).status).toBe(200);
    expect(
      (await ask(key, { ...chat, model: "claude-x" }, "closed/anthropic/v1/messages")).status,
    ).toBe(200);
  });

  const raw = (text: string, headers: Record<string, string> = {}) => ({
    body: text,
    headers: { "content-type": "application/json", ...headers },
  });
  const form = (text: string, type = "multipart/form-data; boundary=b") =>
    raw(text, { "content-type": type, "content-length": String(text.length) });
  const parts = (...all: readonly string[]) =>
    `${all.map((part) => `--b\r\n${part}\r\n`).join("")}--b--\r\n`;
  const field = (model: string) => `Content-Disposition: form-data; name="model"\r\n\r\n${model}`;
  const sound = "closed/openai/v1/audio/transcriptions";
  const gemini = "closed/google-ai-studio/v1beta/models/gemini-pro:generateContent";
  it.each([
    ["another one", "closed/openai/v1/chat/completions", raw('{"model":"gpt-4o"}')],
    ["a longer name", "closed/openai/v1/chat/completions", raw('{"model":"gpt-4o-mini-x"}')],
    ["another provider", "closed/mistral/v1/chat/completions", raw('{"model":"gpt-4o-mini"}')],
    ["none", "closed/openai/v1/files", raw("{}")],
    ["two", "closed/openai/x", raw('{"model":"gpt-4o","model":"gpt-4o-mini"}')],
    ["two the other way", "closed/openai/x", raw('{"model":"gpt-4o-mini","model":"gpt-4o"}')],
    ["an escaped second", "closed/openai/x", raw('{"model":"gpt-4o-mini","mod\\u0065l":"gpt-4o"}')],
    ["one in path and body", gemini, raw('{"model":"gpt-4o-mini"}')],
    ["one in query and body", "closed/openai/x?model=gpt-4o", raw('{"model":"gpt-4o-mini"}')],
    [
      "one in path and body behind two slashes",
      gemini.replace("/models/", "//Models//"),
      raw('{"model":"gpt-4o-mini"}'),
    ],
    ["two in the query", "closed/openai/x?model=gpt-4o-mini&model=gpt-4o", raw("{}")],
    ["an escaped one in the query", "closed/openai/x?model=gpt-4o-mini&mod%65l=gpt-4o", raw("{}")],
    ["two in a form", sound, form(parts(field("gpt-4o-mini"), field("gpt-4o")))],
    [
      "a form with two boundaries",
      sound,
      form(parts(field("gpt-4o-mini")), "multipart/form-data; boundary=b; boundary=c"),
    ],
    [
      "a form that cannot be read, with JSON in it",
      sound,
      form(`--b\r\n${field("gpt-4o")}\r\n--b\r\n\r\n{"model":"gpt-4o-mini"}`),
    ],
    [
      "one in JSON that is called a form",
      "closed/openai/x",
      form('{"model":"gpt-4o","x":"&model=gpt-4o-mini&"}', "application/x-www-form-urlencoded"),
    ],
    [
      "one in a form of names and values",
      "closed/openai/x?model=gpt-4o-mini",
      form("model=gpt-4o", "application/x-www-form-urlencoded"),
    ],
    [
      "one to fall back on",
      "closed/openrouter/v1/chat/completions",
      raw('{"model":"openai/gpt-4o-mini","models":["openai/gpt-4o"]}'),
    ],
    ["an encoded body", "closed/openai/x", raw("x", { "content-encoding": "gzip" })],
    ["plain text", "closed/openai/x", raw('{"model":"gpt-4o"}', { "content-type": "text/plain" })],
    ["compat", "closed/compat/chat/completions", raw('{"model":"openai/gpt-4o","messages":[]}')],
  ])("is refused for %s", async (_, path, { body, headers }) => {
    const { key } = await restricted();
    const response = await gate.send(path, {
      body,
      headers: { ...headers, authorization: `Bearer ${key}` },
    });
    expect(response.status).toBe(403);
    expect(await messageOf(response)).toContain("virtual key");
    expect(gate.transport.requests).toEqual([]);
  });

  it("is for those in a form and in a query, too", async () => {
    const { key } = await restricted();
    const { body, headers } = form(parts(field("gpt-4o-mini")));
    const authorization = `Bearer ${key}`;
    const asked = await gate.send(sound, { body, headers: { ...headers, authorization } });
    expect(asked.status).toBe(200);
    const query = await gate.send("closed/openai/x?model=gpt-4o-mini", {
      ...raw("{}"),
      token: key,
    });
    expect(query.status).toBe(200);
  });

  it("goes on with an allowed step, and gets no other model's cached answer", async () => {
    const { key } = await restricted();
    const steps = ["gpt-4o", "gpt-4o-mini"].map((model) => ({
      provider: "openai",
      endpoint: "chat/completions",
      query: { ...chat, model },
    }));
    const response = await gate.send("closed", { token: key, ...jsonInit(steps) });
    expect([response.status, response.headers.get("cf-aig-step")]).toEqual([200, "1"]);
    const cached = { "cf-aig-cache-ttl": "60" };
    const path = "closed/openai/v1/chat/completions";
    await gate.send(path, { token: API_TOKEN, ...jsonInit(gpt, cached) });
    const again = await gate.send(path, { token: key, ...jsonInit(gpt, cached) });
    expect(again.status).toBe(403);
  });
});
