import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());

const messages = [{ role: "user", content: "Hi" }];
const claude = "anthropic/claude-sonnet-4-5";
const gemini = "google-ai-studio/gemini-2.5-flash";

async function sentFor(model: string, more: object): Promise<Record<string, unknown>> {
  gate.transport.behave = () =>
    jsonReply(model === claude ? { content: [] } : { candidates: [{}] });
  const response = await gate.send(
    "open/compat/chat/completions",
    jsonInit({ model, messages, ...more }),
  );
  expect(response.status).toBe(200);
  return JSON.parse(gate.transport.bodies.at(-1) ?? "null") as Record<string, unknown>;
}

describe("the schema of an answer of Claude's", () => {
  const asked = async (schema: object): Promise<unknown> => {
    const format = { type: "json_schema", json_schema: { name: "answer", strict: true, schema } };
    const sent = await sentFor(claude, { response_format: format });
    return (sent["output_config"] as { format: { schema: unknown } }).format.schema;
  };

  it("has closed objects, and says in the description what Anthropic refuses", async () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        count: { type: "integer", description: "How many", minimum: 1, maximum: 9 },
        names: { type: "array", items: { type: "string", format: "regex" }, maxItems: 4 },
        place: { type: ["object", "null"], properties: {}, additionalProperties: {} },
        either: { oneOf: [{ type: "string" }, { const: 1 }] },
      },
      required: ["count"],
      additionalProperties: true,
    };
    expect(await asked(schema)).toEqual({
      type: "object",
      properties: {
        count: { type: "integer", description: "How many\n\n{minimum: 1, maximum: 9}" },
        names: {
          type: "array",
          items: { type: "string", description: '{format: "regex"}' },
          description: "{maxItems: 4}",
        },
        place: {
          type: ["object", "null"],
          properties: {},
          additionalProperties: false,
          description: "{additionalProperties: {}}",
        },
        either: { anyOf: [{ type: "string" }, { const: 1 }] },
      },
      required: ["count"],
      additionalProperties: false,
    });
  });

  it("keeps references and definitions, and nothing beside a reference", async () => {
    const schema = {
      $ref: "#/$defs/node",
      title: "Node",
      $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } },
    };
    const node = {
      type: "object",
      properties: { next: { $ref: "#/$defs/node" } },
      additionalProperties: false,
    };
    expect(await asked(schema)).toEqual({ $ref: "#/$defs/node", $defs: { node } });
  });

  it("stays as it is where Anthropic takes it", async () => {
    const schema = {
      type: "object",
      properties: {
        day: { type: "string", format: "date", enum: ["2026-01-01"], default: "2026-01-01" },
        tags: { type: "array", items: { type: "string" }, minItems: 1 },
      },
      required: ["day", "tags"],
      additionalProperties: false,
    };
    expect(await asked(schema)).toEqual(schema);
  });
});

describe("JSON without a schema", () => {
  it("is a sentence for Claude, in front of the instructions", async () => {
    const format = { response_format: { type: "json_object" } };
    const sent = await sentFor(claude, format);
    expect(sent).toMatchObject({ system: expect.stringContaining("one JSON object") });
    expect(sent).not.toHaveProperty("output_config");
    const system = { role: "system", content: "Be brief." };
    expect(await sentFor(claude, { ...format, messages: [system, ...messages] })).toMatchObject({
      system: expect.stringMatching(/JSON object.*\n\nBe brief\.$/),
    });
    const alone = await sentFor(claude, { ...format, messages: [system] });
    expect(alone["messages"]).toEqual([
      { role: "user", content: [{ type: "text", text: "Be brief." }] },
    ]);
  });
});

describe("schemas for Gemini", () => {
  const given = {
    type: "object",
    properties: { one: { $ref: "#/$defs/one", title: "One", description: "The one" } },
    $defs: { one: { type: "object", title: "One", properties: { $ref: { type: "string" } } } },
  };
  const sent = {
    ...given,
    properties: { one: { $ref: "#/$defs/one", description: "The one" } },
  };

  it("have only what Gemini takes beside a reference, in tools and answers", async () => {
    const tool = { type: "function", function: { name: "f", parameters: given } };
    expect(await sentFor(gemini, { tools: [tool] })).toMatchObject({
      tools: [{ functionDeclarations: [{ parametersJsonSchema: sent }] }],
    });
    const format = { type: "json_schema", json_schema: { name: "answer", schema: given } };
    const body = await sentFor(gemini, { response_format: format });
    expect((body["generationConfig"] as { responseJsonSchema: object }).responseJsonSchema).toEqual(
      sent,
    );
  });
});

describe("members without content", () => {
  it("are no reason to refuse a chat", async () => {
    await sentFor(claude, { logit_bias: {}, functions: [], top_logprobs: 0 });
  });
});
