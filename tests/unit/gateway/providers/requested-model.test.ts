import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  modelName,
  formModel,
  queryModel,
  requestModel,
} from "../../../../core/gateway/providers/requested-model.ts";

describe("requestModel()", () => {
  it.each([
    ['{"model":"gpt-4o","messages":[]}', "gpt-4o"],
    [' {\n "model" : "gpt-4o" }', "gpt-4o"],
    ['{"messages":[],"model":"gpt-4o"}', "gpt-4o"],
    ['{"model":"cheap","model":"dear"}', "dear"],
    [String.raw`{"model":"cheap","mod\u0065l":"dear"}`, "dear"],
    [String.raw`{"model":"cheap","\u006D\u006f\u0064\u0065\u006C":"dear"}`, "dear"],
    [String.raw`{"model":"cheap","\u006dodel" :"dear"}`, "dear"],
    [String.raw`{"model":"cheap","a":"\u2014 a model"}`, "cheap"],
    [String.raw`{"model":"cheap","a":"\"model\":\"dear\""}`, "cheap"],
    ['{"model":"cheap","tools":[{"model":"other"}]}', "cheap"],
    [String.raw`{"model":"a\"b"}`, 'a"b'],
    [`{"model":"${"m".repeat(300)}"}`, "m".repeat(256)],
    ['{"model":7}', "in-path"],
    ["[]", "in-path"],
    ["not JSON", "in-path"],
  ])("reads %s", (body, model) => {
    expect(requestModel(body, "models/in-path:generateContent", "openai")).toBe(model);
  });

  it("reads the path of a request without a body", () => {
    expect(requestModel(null, "deployments/gpt-4o/chat/completions", "openai")).toBe("gpt-4o");
  });

  it.each([
    ["azure-openai", "resource/gpt-4o/chat/completions", "gpt-4o"],
    ["azure-openai", "gpt-4o/completions", "gpt-4o"],
    // Azure's paths have no letter case, and many servers take slashes together.
    ["azure-openai", "resource/gpt-4o/Chat/Completions", "gpt-4o"],
    ["azure-openai", "resource/openai/Deployments/gpt-4o/Chat/Completions", "gpt-4o"],
    ["azure-openai", "resource//gpt-4o//chat//completions", "gpt-4o"],
    ["replicate", "/v1//models/owner//name/predictions", "owner/name"],
    ["azure-openai", "openai/deployments/gpt-4o/embeddings", "gpt-4o"],
    ["azure-openai", "resource/whisper/audio/transcriptions", "whisper"],
    ["azure-openai", "openai/v1/chat/completions", ""],
    ["openai", "resource/gpt-4o/chat/completions", ""],
    [
      "aws-bedrock",
      "bedrock-runtime/us-east-1/model/anthropic.claude-v1%3A0/converse",
      "anthropic.claude-v1",
    ],
    ["aws-bedrock", "model/anthropic.claude-v1:0/invoke", "anthropic.claude-v1"],
  ])("reads the paths of %s: %s", (slug, path, model) => {
    expect(requestModel("{}", path, slug)).toBe(model);
    expect(requestModel('{"model":"given"}', path, slug)).toBe(
      slug === "openai" || model === "" ? "given" : model,
    );
  });

  it.each([
    ["replicate", "v1/models/meta/llama-3/predictions", "meta/llama-3"],
    ["replicate", "predictions", ""],
    ["huggingface", "org/name/v1/chat/completions", "org/name"],
    ["huggingface", "bert/pipeline/feature-extraction", "bert"],
    ["huggingface", "models/org/name", "org/name"],
    ["huggingface", "v1/chat/completions", ""],
    ["fal", "fal-ai/flux/dev", "fal-ai/flux/dev"],
    ["fal", "fal-ai/flux/requests/r1/status", "fal-ai/flux"],
    ["fal", "storage/upload/initiate", ""],
  ])("reads the owner and the name in paths of %s: %s", (slug, path, model) => {
    expect(requestModel(null, path, slug)).toBe(model);
    // A provider that goes by the path does not look at the body's.
    expect(requestModel('{"model":"given"}', path, slug)).toBe(model === "" ? "given" : model);
  });

  it("reads what ElevenLabs and Cartesia call an id", () => {
    expect(requestModel('{"text":"x","model_id":"eleven_v3"}', "p", "elevenlabs")).toBe(
      "eleven_v3",
    );
    expect(requestModel('{"model_id":"other","model":"m"}', "p", "elevenlabs")).toBe("m");
  });

  it("reads the query, as Deepgram's are", () => {
    expect(queryModel("?smart_format=true&model=nova%2D3")).toBe("nova-3");
    expect(queryModel("?model_id=m&x")).toBe("m");
    expect(queryModel("?my_model=m")).toBe("");
  });

  it("names what a parser names, whatever the members and their order", () => {
    const name = fc.constantFrom(
      "model",
      "messages",
      "a",
      "mod\\u0065l",
      "\\u006DodeL",
      "\\u006Dodel",
      "models",
    );
    const value = fc.oneof(
      fc.constantFrom('"x"', '"\\"model\\""', '{"model":"y"}', "7", '"\\u0078"', '"é"'),
      fc.jsonValue({ maxDepth: 1 }).map((one) => JSON.stringify(one)),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(name, value), { maxLength: 4 }), (members) => {
        const body = `{${members.map(([key, one]) => `"${key}":${one}`).join(", ")}}`;
        expect(requestModel(body, "p", "openai")).toBe(modelName(JSON.parse(body), "p"));
      }),
      { numRuns: 500 },
    );
  });
});

describe("formModel()", () => {
  const type = "multipart/form-data; boundary=b";
  const form = (...parts: readonly string[]): Uint8Array =>
    new TextEncoder().encode(parts.map((part) => `--b\r\n${part}\r\n`).join("") + "--b--\r\n");
  const file = 'Content-Disposition: form-data; name="model"; filename="m"\r\n\r\nnot-this';
  const field = 'Content-Disposition: form-data; name="model"\r\n\r\nwhisper-1';

  it("reads the field of a form, in front of its file or behind it", () => {
    expect(formModel(form(file, field), type)).toBe("whisper-1");
    expect(formModel(form(field, file), type)).toBe("whisper-1");
  });

  it("names no model of what is no such form", () => {
    expect(formModel(form(file), type)).toBe("");
    expect(formModel(form(field), "multipart/mixed; boundary=b")).toBe("");
    expect(formModel(form(field).subarray(0, 40), type)).toBe("");
    expect(formModel(form(`${field}${"x".repeat(999)}`), type)).toHaveLength(256);
  });
});
