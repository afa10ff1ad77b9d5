import { afterAll, describe, expect, it } from "vitest";
import type { ModelRouter, RouteRequest } from "../../../../core/gateway/mod.ts";
import type { Log } from "../../../../core/ports.ts";
import { jsonInit } from "../../../fakes/gateway-app.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";
import { ask, hello, closeRouted, routed } from "../../../fakes/gateway-auto-router.ts";

afterAll(closeRouted);
const image = [
  {
    role: "user",
    content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA" } }],
  },
];

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
