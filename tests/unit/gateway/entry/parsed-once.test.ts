import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { Hono } from "hono";
import { gatewayManagement } from "../../../../core/gateway/mod.ts";
import {
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
  openToAll,
} from "../../../fakes/gateway-app.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
let management: Hono;
beforeAll(async () => {
  const apiKey = "stored-key";
  const providers = { openai: { apiKey }, anthropic: { apiKey } };
  const gateways = { open: { ...openToAll, models: { fast: "openai/gpt-5.5" } } };
  gate = await gatewayUnderTest({ providers, gateways });
  const { platform } = gate;
  management = gatewayManagement({
    platform,
    auth: "off",
    providers,
    gateways: { default: { models: { fast: "openai/gpt-5.5" } } },
  });
});
afterAll(() => gate.close());

const MARK = "a question that stands once in the request";

const chatOf = (model: string, more: object = {}) => ({
  model,
  max_tokens: 10,
  messages: [{ role: "user", content: MARK }],
  ...more,
});

/** How often the request is parsed and written while `work` runs. */
async function passesOf(
  work: () => Promise<Response>,
): Promise<{ parsed: number; written: number }> {
  const passes = { parsed: 0, written: 0 };
  const { parse, stringify } = JSON;
  const parsing = vi.spyOn(JSON, "parse").mockImplementation((text: string) => {
    if (text.includes(MARK)) passes.parsed++;
    return parse(text) as unknown;
  });
  const writing = vi.spyOn(JSON, "stringify").mockImplementation((value: unknown) => {
    const text = stringify(value);
    if (text?.includes(MARK)) passes.written++;
    return text;
  });
  try {
    const answer = await work();
    expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
  } finally {
    parsing.mockRestore();
    writing.mockRestore();
  }
  return passes;
}

const REST = "http://gateway.test/accounts/acme/ai/v1/";
const compat = { provider: "compat", endpoint: "chat/completions" };
const stream = { stream: true };

it.each([
  ["a native chat", "open/openai/chat/completions", chatOf("gpt-5.5"), 0, 0],
  ["a unified chat", "open/compat/chat/completions", chatOf("openai/gpt-5.5"), 1, 1],
  ["a unified stream", "open/compat/chat/completions", chatOf("openai/gpt-5.5", stream), 1, 1],
  ["a pool's chat", "open/compat/chat/completions", chatOf("fast"), 1, 1],
  ["a pool's chat by REST inference", `${REST}chat/completions`, chatOf("fast"), 1, 1],
  ["a translated chat", "open/anthropic/chat/completions", chatOf("claude-opus-4-5"), 1, 1],
  [
    "a unified chat, translated",
    "open/compat/chat/completions",
    chatOf("anthropic/claude-opus-4-5"),
    1,
    2,
  ],
  [
    "a long one, translated",
    "open/compat/chat/completions",
    chatOf("anthropic/claude-opus-4-5", { stop: ["x".repeat(300_000)] }),
    1,
    2,
  ],
  ["messages, passed on", "open/compat/messages", chatOf("anthropic/claude-opus-4-5"), 1, 1],
  ["REST inference", `${REST}chat/completions`, chatOf("openai/gpt-5.5"), 1, 1],
  [
    "REST inference, translated",
    `${REST}chat/completions`,
    chatOf("anthropic/claude-opus-4-5"),
    1,
    2,
  ],
  ["universal steps", "open", [{ ...compat, query: chatOf("openai/gpt-5.5") }], 1, 1],
  [
    "universal steps, translated",
    "open",
    [{ ...compat, query: chatOf("anthropic/claude-opus-4-5") }],
    1,
    2,
  ],
])(
  "%s is parsed and written no more often than it has to be",
  async (_, path, asked, parsed, written) => {
    gate.transport.behave = () => jsonReply({ choices: [], content: [] });
    const init = jsonInit(asked);
    const passes = await passesOf(async () =>
      path.startsWith(REST)
        ? management.fetch(new Request(path, { method: "POST", ...init }))
        : gate.send(path, init),
    );
    expect(passes).toEqual({ parsed, written });
    expect(gate.transport.bodies.at(-1)).toContain(MARK);
  },
);

it("what is not changed is passed on byte for byte", async () => {
  gate.transport.behave = () => jsonReply({ choices: [] });
  const body = '{"model":"gpt-5.5", "seed":12345678901234567890,"a":1.0,"a":2,"messages":[]}';
  const answer = await gate.send("open/openai/chat/completions", { ...jsonInit({}), body });
  expect(answer.status).toBe(200);
  expect(gate.transport.bodies.at(-1)).toBe(body);
});
