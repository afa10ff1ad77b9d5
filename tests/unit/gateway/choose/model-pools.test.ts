import { afterAll, beforeEach, describe, expect, it } from "vitest";
import type { OutboundRequest } from "../../../../core/ports.ts";
import type { DeclaredModel } from "../../../../core/gateway/account/settings/declared-models.ts";
import { gateway } from "../../../../core/gateway/mod.ts";
import { TransportError } from "../../../../core/net/transport-error.ts";
import {
  chat,
  GATEWAY_TOKEN,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, sentHeaders } from "../../../fakes/gateway-transport.ts";

const models: Record<string, DeclaredModel> = {
  "claude-haiku": "groq/llama-3",
  spread: {
    targets: [
      { model: "openai/gpt-a", key: "first" },
      { model: "openai/gpt-a", key: "second" },
      { model: "groq/llama-3", weight: 0 },
    ],
  },
  deployments: { targets: [{ model: "openai/east" }, { model: "openai/west", weight: 0 }] },
};
const keys = {
  openai: { first: "sk-first", second: "sk-second", default: "sk-default" },
  groq: "sk-groq",
};
/** Names for models of other requests than chats. */
const tasks: Record<string, DeclaredModel> = {
  sounds: { targets: [{ model: "cohere/first" }, { model: "groq/whisper", weight: 0 }] },
  vectors: { targets: [{ model: "groq/none" }, { model: "openai/e", key: "second", weight: 0 }] },
  fewer: { targets: [{ model: "openai/e" }, { model: "groq/none", weight: 0 }] },
};
const gateways = {
  one: { tokens: [GATEWAY_TOKEN], models, keys },
  tasks: { tokens: [GATEWAY_TOKEN], models: tasks, keys },
  two: { tokens: [GATEWAY_TOKEN], models, keys },
  strangers: { authentication: false, models, keys },
  none: { tokens: [GATEWAY_TOKEN] },
};

describe("a name of the operator's for models", () => {
  const open: GatewayUnderTest[] = [];
  let gate: GatewayUnderTest;
  beforeEach(async () => {
    gate = await gatewayUnderTest({ gateways });
    open.push(gate);
  });
  afterAll(() => Promise.all(open.map((one) => one.close())));

  const ask = (
    name: string,
    { at = "one", path = "compat/chat/completions", headers = {}, token = GATEWAY_TOKEN } = {},
  ): Promise<Response> =>
    gate.send(`${at}/${path}`, { ...jsonInit({ ...chat, model: name }, headers), token });
  const keyOf = (request: OutboundRequest | undefined): string =>
    sentHeaders(request)["authorization"] ?? "";
  const asked = (): string[] =>
    gate.transport.requests.map((request, at) => {
      const { model } = JSON.parse(gate.transport.bodies[at] ?? "{}") as { model: string };
      return `${model} ${keyOf(request)}`;
    });
  /** Lets requests with one key fail. */
  const fail = (key: string, status: number, headers: [string, string][] = []): void => {
    gate.transport.behave = (request) =>
      keyOf(request).endsWith(key) ? jsonReply({ error: {} }, status, headers) : jsonReply({});
  };

  /** Lets requests for one of two deployments with one key fail: the other one does not cool. */
  const failEast = (key: string, status: number): void => {
    gate.transport.behave = (request, index) => {
      const isEast = gate.transport.bodies[index]?.includes('"east"') === true;
      return jsonReply({}, isEast && keyOf(request).endsWith(key) ? status : 200);
    };
  };

  it.each(["compat/chat/completions", "compat/v1/chat/completions", "compat/responses"])(
    "stands for its model on %s, and the answer says which one",
    async (path) => {
      const answer = await ask("claude-haiku", { path });
      expect([answer.headers.get("cf-aig-provider"), answer.headers.get("cf-aig-model")]).toEqual([
        "groq",
        "llama-3",
      ]);
      expect(asked()).toEqual(["llama-3 Bearer sk-groq"]);
    },
  );

  it("stands for the targets that have embeddings, where these are asked", async () => {
    gate.transport.behave = () => jsonReply({ data: [{ embedding: [1] }] });
    const answer = await ask("vectors", { at: "tasks", path: "compat/embeddings" });
    expect([answer.status, asked()]).toEqual([200, ["e Bearer sk-second"]]);
    expect(answer.headers.get("cf-aig-model")).toBe("e");
  });

  it("answers with the failure of the one target that has embeddings", async () => {
    gate.transport.behave = () => jsonReply({ error: { message: "down" } }, 503);
    const answer = await ask("fewer", { at: "tasks", path: "compat/embeddings" });
    expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining("down")]);
  });

  it("says which target takes no embeddings, where none does", async () => {
    const answer = await ask("claude-haiku", { path: "compat/embeddings" });
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringContaining('\\"embeddings\\" for models of \\"groq\\"'),
    ]);
  });

  it("is renamed in the form of a sound", async () => {
    const form = new FormData();
    form.append("model", "sounds");
    form.append("file", new Blob([new Uint8Array(64)]), "a.wav");
    const request = new Request("http://x/", { method: "POST", body: form });
    gate.transport.behave = () => jsonReply({ text: "Hello" });
    const answer = await gate.send("tasks/compat/audio/transcriptions", {
      method: "POST",
      headers: { "content-type": request.headers.get("content-type") ?? "" },
      body: new Uint8Array(await request.arrayBuffer()),
      token: GATEWAY_TOKEN,
    });
    expect([answer.status, await answer.json()]).toEqual([200, { text: "Hello" }]);
    expect(gate.transport.bodies.map((body) => body.includes("whisper"))).toEqual([true]);
    expect(gate.transport.bodies[0]).not.toContain("sounds");
  });

  it("stands for its model in universal steps and where tokens are counted", async () => {
    const step = { provider: "compat", endpoint: "chat/completions", query: { ...chat } };
    const query = { ...chat, model: "claude-haiku" };
    const universal = await gate.send("one", {
      ...jsonInit([{ ...step, query }]),
      token: GATEWAY_TOKEN,
    });
    expect([universal.status, asked()]).toEqual([200, ["llama-3 Bearer sk-groq"]]);
    const counted = await ask("claude-haiku", { path: "compat/messages/count_tokens" });
    expect([counted.status, await counted.json()]).toEqual([
      200,
      { input_tokens: expect.any(Number) },
    ]);
  });

  it("is another provider's error where a gateway does not have it", async () => {
    expect((await ask("claude-haiku", { at: "none" })).status).toBe(400);
  });

  it("is listed with the models, for callers who reach one of its targets", async () => {
    const listed = async (at: string, token: string | null): Promise<string[]> => {
      const answer = await gate.send(`${at}/compat/models`, { method: "GET", token });
      const { data } = (await answer.json()) as { data: { id: string; owned_by: string }[] };
      return data.filter(({ owned_by: owner }) => owner === "causey").map(({ id }) => id);
    };
    expect(await listed("one", GATEWAY_TOKEN)).toEqual(["claude-haiku", "spread", "deployments"]);
    expect(await listed("none", GATEWAY_TOKEN)).toEqual([]);
    expect(await listed("strangers", null)).toEqual([]);
  });

  it("spends no key of the operator's for a stranger", async () => {
    const answer = await gate.send(
      "strangers/compat/chat/completions",
      jsonInit({ ...chat, model: "spread" }),
    );
    expect([answer.status, gate.transport.requests]).toEqual([401, []]);
  });

  it("spreads requests over keys, and asks a spare only when both fail", async () => {
    for (let turn = 0; turn < 40; turn++) await ask("spread");
    expect(new Set(asked())).toEqual(new Set(["gpt-a Bearer sk-first", "gpt-a Bearer sk-second"]));
    gate.transport.behave = ({ url }) => jsonReply({}, url.includes("api.openai.com") ? 503 : 200);
    const answer = await ask("spread");
    expect([answer.status, answer.headers.get("cf-aig-provider")]).toEqual([200, "groq"]);
  });

  it.each([429, 500, 503, 401, 403, 404])(
    "goes on at once after a %d, and passes the target over for a while",
    async (status) => {
      fail("sk-first", status);
      const turns = 12;
      for (let turn = 0; turn < turns; turn++) expect((await ask("spread")).status).toBe(200);
      const first = asked().filter((one) => one.endsWith("sk-first"));
      expect([first.length <= 1, asked().length]).toEqual([true, turns + first.length]);
    },
  );

  it("passes over a target whose 200 reports a failure", async () => {
    const error = { code: 429, message: "Provider returned error" };
    gate.transport.behave = (request) =>
      jsonReply(keyOf(request).endsWith("sk-first") ? { error } : {});
    const turns = 12;
    for (let turn = 0; turn < turns; turn++) expect((await ask("spread")).status).toBe(200);
    const first = asked().filter((one) => one.endsWith("sk-first"));
    expect([first.length <= 1, asked().length]).toEqual([true, turns + first.length]);
  });

  it("goes on after a connection that failed, without another attempt before the last target", async () => {
    gate.transport.behave = ({ url }) => {
      if (url.includes("api.openai.com")) throw new TransportError("broken", "no way there");
      return jsonReply({});
    };
    const answer = await ask("spread", {
      headers: { "cf-aig-max-attempts": "5", "cf-aig-retry-delay": "0" },
    });
    expect([answer.status, gate.transport.requests.length]).toEqual([200, 3]);
    // Both cool: the next request asks the third one at once.
    expect((await ask("spread")).status).toBe(200);
    expect(gate.transport.requests).toHaveLength(4);
  });

  it("still asks targets that are cooling when nothing else is left", async () => {
    gate.transport.behave = () => jsonReply({}, 503);
    expect((await ask("deployments")).status).toBe(503);
    gate.transport.behave = () => jsonReply({});
    expect((await ask("deployments")).status).toBe(200);
  });

  it.each([400, 413, 422])("does not try a request elsewhere that a %d refuses", async (status) => {
    gate.transport.behave = () => jsonReply({ error: {} }, status);
    expect((await ask("spread")).status).toBe(status);
    expect(gate.transport.requests).toHaveLength(1);
  });

  it("keeps a session at one key", async () => {
    const headers = { "cf-aig-session-id": "conversation-1" };
    for (let turn = 0; turn < 12; turn++) await ask("spread", { headers });
    expect(new Set(asked()).size).toBe(1);
  });

  it("keeps what one gateway saw from the others", async () => {
    failEast("sk-default", 429);
    await ask("deployments");
    const before = gate.transport.requests.length;
    await ask("deployments", { at: "two" });
    expect(asked()[before]).toBe("east Bearer sk-default");
    await ask("deployments");
    expect(asked().at(-1)).toBe("west Bearer sk-default");
  });

  it("takes a caller's own key for one provider only, and holds its refusal against nobody", async () => {
    const headers = { authorization: "Bearer sk-own" };
    failEast("sk-own", 401);
    expect((await ask("deployments", { headers })).status).toBe(200);
    expect(asked()).toEqual(["east Bearer sk-own", "west Bearer sk-own"]);
    expect((await ask("deployments")).status).toBe(200);
    expect(asked().at(-1)).toBe("east Bearer sk-default");
    await ask("spread", { headers });
    expect(asked().at(-1)).not.toContain("sk-own");
  });

  it("is refused at the start where it leads nowhere", () => {
    const start = (given: unknown): void =>
      void gateway({
        platform: gate.platform,
        gateways: { one: { models: { fast: given as DeclaredModel } } },
      });
    expect(() => start("nobody/gpt")).toThrow("gateways.one.models.fast");
    expect(() => start({ targets: [] })).toThrow("expected at least one target");
    expect(() => start({ targets: [{ model: "openai/a", weight: -1 }] })).toThrow("weight");
    const many = Array.from({ length: 17 }, (_, at) => ({ model: `openai/m${at}` }));
    expect(() => start({ targets: many })).toThrow("at most 16 targets");
  });
});
