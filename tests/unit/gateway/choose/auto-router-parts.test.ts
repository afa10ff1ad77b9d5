import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { matches, readPool } from "../../../../core/gateway/routing/router/pool.ts";
import type { RouterCandidate } from "../../../../core/gateway/routing/router/model-router.ts";
import { needsOf, turnOf } from "../../../../core/gateway/chat/conversation.ts";
import { ranked } from "../../../../core/gateway/routing/router/rank.ts";
import { recentMap } from "../../../../core/work/recent-map.ts";
import { priceOf } from "../../../fakes/gateway-prices.ts";

const price = { input: 1, output: 2 };

describe("a pattern of allowed-models", () => {
  it.each([
    ["openai/gpt-4o", "openai/gpt-4o", true],
    ["openai/gpt-4o", "openai/gpt-4o-mini", false],
    ["openai/*", "openai/gpt-4o", true],
    ["openai/gpt-*-mini", "openai/gpt-4o-mini", true],
    ["openai/*-mini", "openai/gpt-4o", false],
    ["*", "openai/gpt-4o", false],
    ["*/*", "openai/gpt-4o", true],
    ["*/gpt-4o", "openai/gpt-4o", true],
    ["workers-ai/*", "workers-ai/@cf/meta/llama", false],
    ["@cf/*/*", "@cf/meta/llama", true],
    // What one star took is not there for the next text.
    ["openai/ab*ba", "openai/aba", false],
    ["openai/a*b*c", "openai/a-c-b-c", true],
    ["openai/a*b*c", "openai/acb", false],
    [`openai/${"a*".repeat(60)}b`, `openai/${"a".repeat(250)}`, false],
  ])("%s on %s: %s", (pattern, name, expected) => {
    expect(matches(pattern, name)).toBe(expected);
  });

  it("means what a regular expression of the same form means", () => {
    const text = (letters: string) =>
      fc.array(fc.constantFrom(...letters), { maxLength: 8 }).map((all) => all.join(""));
    fc.assert(
      fc.property(text("ab*/"), text("ab/"), (pattern, name) => {
        const expected = new RegExp(`^${pattern.replaceAll("*", "[^/]*")}$`).test(name);
        expect(matches(pattern, name)).toBe(expected);
      }),
    );
  });
});

describe("the candidates of the options", () => {
  it("have the provider's path segment, and the price of the table", () => {
    const pool = readPool(
      {
        candidates: [
          { model: "openai/gpt-5-mini" },
          { model: "google/gemini-2.5-flash" },
          { model: "@cf/meta/llama-3", price },
          { model: "custom-lab/tiny", price, contextTokens: 8000, lacks: ["images"] },
        ],
      },
      priceOf,
    );
    expect(pool.map(({ slug, model }) => [slug, model])).toEqual([
      ["openai", "gpt-5-mini"],
      ["google-ai-studio", "gemini-2.5-flash"],
      ["workers-ai", "@cf/meta/llama-3"],
      ["custom-lab", "tiny"],
    ]);
    expect(pool[0]?.price).toMatchObject({ input: 0.25, output: 2 });
    expect(pool[1]?.names).toEqual([
      "google/gemini-2.5-flash",
      "google-ai-studio/gemini-2.5-flash",
    ]);
    expect(pool[1]?.providers).toEqual(["google", "google-ai-studio"]);
  });

  it.each<[RouterCandidate[], RegExp]>([
    [[], /1 to 64/],
    [Array.from({ length: 65 }, (_, i) => ({ model: `openai/${i}`, price })), /1 to 64/],
    [[{ model: "gpt-4o" }], /"gpt-4o".*provider/],
    [[{ model: "nowhere/gpt-4o", price }], /known provider/],
    [[{ model: "cloudflare/auto", price }], /known provider/],
    [[{ model: "dynamic/route", price }], /takes chats/],
    [[{ model: "elevenlabs/voice", price }], /takes chats/],
    [[{ model: "openai/no-such-model" }], /no price is known of "openai\/no-such-model"/],
    [[{ model: "openai/a\r\nb", price }], /not a model's name/],
    [[{ model: "openai/a", price: { input: -1, output: 1 } }], /positive/],
    [[{ model: "openai/a", price, contextTokens: Number.NaN }], /positive/],
    [[{ model: "openai/a", price, lacks: ["speech" as never] }], /lacks "speech"/],
    [
      [
        { model: "google/g", price },
        { model: "google-ai-studio/g", price },
      ],
      /twice/,
    ],
  ])("are refused: %j", (candidates, problem) => {
    expect(() => readPool({ candidates }, priceOf)).toThrow(problem);
  });

  it("need no price where the operator orders them", () => {
    const choose = () => ({ models: [] });
    expect(
      readPool({ candidates: [{ model: "openai/no-such-model" }], choose }, priceOf),
    ).toHaveLength(1);
  });
});

describe("needsOf()", () => {
  const words = [{ role: "user", content: "hi" }];
  const of = (body: object, format: "chat/completions" | "responses" | "messages") =>
    needsOf({ ...body }, format, JSON.stringify(body).length);

  it.each([
    ["chat/completions", { messages: words }, []],
    ["chat/completions", { messages: words, tools: [] }, []],
    ["chat/completions", { messages: words, tools: [{ type: "function" }] }, ["tools"]],
    ["chat/completions", { messages: words, response_format: { type: "json_schema" } }, ["json"]],
    ["chat/completions", { messages: words, response_format: { type: "text" } }, []],
    ["responses", { input: "hi", text: { format: { type: "json_object" } } }, ["json"]],
    ["messages", { messages: words, output_config: { format: { type: "json_schema" } } }, ["json"]],
    [
      "chat/completions",
      { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "u" } }] }] },
      ["images"],
    ],
    [
      "chat/completions",
      { messages: [{ role: "user", content: [{ type: "input_audio" }, { type: "file" }] }] },
      ["audio", "files"],
    ],
    [
      "responses",
      {
        input: [
          { role: "user", content: [{ type: "input_image", image_url: "u" }] },
          { type: "function_call_output", output: [{ type: "input_file" }] },
        ],
      },
      ["images", "files"],
    ],
    [
      "messages",
      {
        messages: [
          {
            role: "user",
            content: [{ type: "tool_result", content: [{ type: "image" }] }, { type: "document" }],
          },
        ],
      },
      ["images", "files"],
    ],
    // Only the conversation is looked into: a tool's schema may well have a member of that type.
    ["chat/completions", { messages: words, metadata: { type: "image" } }, []],
    ["chat/completions", {}, []],
    ["responses", { input: 7 }, []],
  ] as const)("%s %j needs %j", (format, body, expected) => {
    expect(of(body, format).abilities).toEqual(expected);
  });

  it("counts four bytes as a token, and an image as a thousand, whatever its bytes", () => {
    const text = { messages: [{ role: "user", content: "x".repeat(4000) }], max_tokens: 200 };
    const { inputTokens, outputTokens, contextTokens } = of(text, "chat/completions");
    expect(inputTokens).toBeGreaterThan(1000);
    expect(inputTokens).toBeLessThan(1100);
    expect([outputTokens, contextTokens]).toEqual([200, inputTokens + 200]);
    const url = `data:image/png;base64,${"A".repeat(400_000)}`;
    const image = { role: "user", content: [{ type: "image_url", image_url: { url } }] };
    expect(of({ messages: [image] }, "chat/completions").inputTokens).toBeLessThan(1100);
  });

  it("is not led astray by depth", () => {
    const deep: unknown = JSON.parse(`${"[".repeat(5000)}${"]".repeat(5000)}`);
    expect(of({ messages: deep }, "chat/completions").abilities).toEqual([]);
  });

  it.each([
    ["chat/completions", { messages: words }, true],
    ["chat/completions", { messages: [{ role: "user", content: " " }] }, false],
    ["chat/completions", { messages: [{ role: "system", content: "x" }] }, false],
    ["responses", { input: "x" }, true],
    [
      "responses",
      { input: [{ role: "user", content: [{ type: "input_text", text: "x" }] }] },
      true,
    ],
    ["messages", { messages: [{ role: "user", content: [{ type: "image" }] }] }, false],
  ] as const)("%s %j has text: %s", (format, body, expected) => {
    expect(of(body, format).hasText).toBe(expected);
  });
});

describe("turnOf()", () => {
  const user = (content: unknown) => ({ role: "user", content });
  const turn = (messages: unknown[]) => turnOf({ messages }, "chat/completions", {});

  it("is one turn up to the user's next message", async () => {
    const first = await turn([user("a")]);
    const call = { role: "assistant", content: null, tool_calls: [] };
    const result = { role: "tool", tool_call_id: "1", content: "r" };
    expect(await turn([user("a"), call, result])).toBe(first);
    expect(await turn([user("a"), call, result, user("b")])).not.toBe(first);
  });

  it("takes a tool's result in Anthropic's format for no message of a user", async () => {
    const messages = [user("a"), { role: "assistant", content: [] }];
    const result = user([{ type: "tool_result" }, { type: "text", text: "reminder" }]);
    const one = await turnOf({ messages }, "messages", {});
    expect(await turnOf({ messages: [...messages, result] }, "messages", {})).toBe(one);
  });

  it("tells turns apart where a client sends only the newest messages", async () => {
    expect(await turn([user("b")])).not.toBe(await turn([user("c")]));
  });

  it("is unknown where no user says anything", async () => {
    const input = [{ type: "function_call_output", call_id: "1", output: "r" }];
    expect(await turnOf({ input }, "responses", {})).toBeNull();
    expect(await turnOf({ input: "a" }, "responses", {})).not.toBeNull();
  });
});

describe("ranked()", () => {
  const pool = readPool(
    {
      candidates: [
        { model: "openai/dear", price: { input: 10, output: 10, cached: 0.1 } },
        { model: "openai/cheap", price: { input: 1, output: 1 } },
        { model: "openai/same", price: { input: 1, output: 1 } },
        {
          model: "openai/long",
          price: { input: 0.5, output: 0.5, long: { tokens: 5000, input: 50, output: 50 } },
        },
        { model: "openai/unknown" },
      ],
      choose: () => ({ models: [] }),
    },
    priceOf,
  );
  const needs = { abilities: [], outputTokens: null, contextTokens: 0, hasText: true };
  const names = (inputTokens: number, warm = "") =>
    ranked(pool, { ...needs, inputTokens }, pool.find(({ model }) => model === warm) ?? null).map(
      ({ candidate }) => candidate.model,
    );

  it("puts the cheapest first, the earlier of two alike, and unknown prices last", () => {
    expect(names(1000)).toEqual(["long", "cheap", "same", "dear", "unknown"]);
  });

  it("uses the price of long requests for long requests", () => {
    expect(names(6000)).toEqual(["cheap", "same", "dear", "long", "unknown"]);
  });

  it("stays with the model that holds the prompt in its cache as long as that saves money", () => {
    expect(names(50_000, "dear")[0]).toBe("dear");
    expect(names(1000, "dear")[0]).toBe("long");
  });
});

describe("recentMap()", () => {
  it("forgets what is old, and what was set longest ago", () => {
    let now = 0;
    const map = recentMap<number>(2, 10, { monotonic: () => now });
    map.set("a", 1);
    map.set("b", 2);
    map.set("a", 3);
    map.set("c", 4);
    expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([3, undefined, 4]);
    now = 10;
    expect(map.get("a")).toBeUndefined();
    map.set("c", 5);
    now = 19;
    expect(map.get("c")).toBe(5);
  });
});
