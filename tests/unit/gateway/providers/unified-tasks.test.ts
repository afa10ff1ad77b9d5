import { describe, expect, it } from "vitest";
import { utf8 } from "../../../../core/crypto/encoding.ts";
import type { Step } from "../../../../core/gateway/call/call.ts";
import { taskPath, unifiedTasks } from "../../../../core/gateway/providers/known/unified-tasks.ts";
import { providers } from "../../../../core/gateway/providers/known/table.ts";
import { isInference, plainPath } from "../../../../core/gateway/providers/reach/inferences.ts";
import { resolveTarget } from "../../../../core/gateway/providers/target.ts";
import { compatStep } from "../../../../core/gateway/providers/unified-step.ts";
import { gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { jsonReply, sentHeaders } from "../../../fakes/gateway-transport.ts";

const given = (rest: string, model: unknown): Step => ({
  slug: "compat",
  rest,
  query: "",
  method: "POST",
  headers: [["content-type", "application/json"]],
  body: utf8(JSON.stringify({ model, input: "Hello" })),
});

describe("a unified request other than a chat", () => {
  it.each([
    ["embeddings", "openai/text-embedding-3-small", "https://api.openai.com/v1/embeddings"],
    ["v1/embeddings", "mistral/mistral-embed", "https://api.mistral.ai/v1/embeddings"],
    [
      "embeddings",
      "google-ai-studio/gemini-embedding-001",
      "https://generativelanguage.googleapis.com/v1beta/openai/embeddings",
    ],
    [
      "embeddings",
      "openrouter/openai/text-embedding-3-small",
      "https://openrouter.ai/api/v1/embeddings",
    ],
    ["embeddings", "ollama/nomic-embed-text", "http://127.0.0.1:11434/v1/embeddings"],
    ["rerank", "cohere/rerank-v3.5", "https://api.cohere.com/v2/rerank"],
    ["rerank", "fireworks/accounts/f/models/r", "https://api.fireworks.ai/inference/v1/rerank"],
    ["moderations", "openai/omni-moderation-latest", "https://api.openai.com/v1/moderations"],
    ["audio/speech", "groq/playai-tts", "https://api.groq.com/openai/v1/audio/speech"],
    ["images/generations", "grok/grok-2-image", "https://api.x.ai/v1/images/generations"],
    ["images/edits", "grok/grok-imagine", "https://api.x.ai/v1/images/edits"],
    ["completions", "ollama/qwen2.5-coder", "http://127.0.0.1:11434/v1/completions"],
    ["completions", "openai/gpt-3.5-turbo-instruct", "https://api.openai.com/v1/completions"],
    ["responses/compact", "openai/gpt-5.6-terra", "https://api.openai.com/v1/responses/compact"],
    [
      "v1/responses/input_tokens",
      "openai/gpt-5.6-terra",
      "https://api.openai.com/v1/responses/input_tokens",
    ],
  ])("%s of %s goes to %s", (path, model, address) => {
    const { slug, rest, query, body } = compatStep(given(path, model));
    const targets = { providers: { ollama: {} }, demo: true };
    expect(resolveTarget(slug, targets, { rest, query }).url).toBe(address);
    const sent = JSON.parse(new TextDecoder().decode(body as Uint8Array));
    expect(sent).toEqual({ model: model.slice(model.indexOf("/") + 1), input: "Hello" });
  });

  it("goes to a custom provider below its base URL", () => {
    const { slug, rest } = compatStep(given("embeddings", "custom-lab/e"));
    expect([slug, rest]).toEqual(["custom-lab", "embeddings"]);
  });

  it.each([
    ["embeddings", "anthropic/claude-x", '"embeddings" for models of "anthropic" is not supported'],
    ["rerank", "openai/gpt", '"rerank" for models of "openai"'],
    ["embeddings", "text-embedding-3-small", 'did you mean "openai/text-embedding-3-small"?'],
    ["embeddings", undefined, 'Missing field "model"'],
    ["embedding", "openai/x", '"embeddings"'],
    ["images/variations", "openai/gpt-image-2", "The unified endpoint has only"],
    ["responses/compact", "anthropic/claude-x", "but of openai"],
    ["audio/transcriptions", "anthropic/claude-x", "but of openai, groq, mistral"],
  ])("%s of %s is refused", (path, model, message) => {
    expect(() => compatStep(given(path, model))).toThrow(message);
  });

  it.each([
    [
      "audio/transcriptions",
      "openai/gpt-4o-transcribe",
      "https://api.openai.com/v1/audio/transcriptions",
    ],
    [
      "v1/audio/translations",
      "groq/whisper-large-v3",
      "https://api.groq.com/openai/v1/audio/translations",
    ],
    ["images/edits", "openai/gpt-image-1", "https://api.openai.com/v1/images/edits"],
    [
      "audio/transcriptions",
      "azure-openai/whisper-1",
      "https://old.openai.azure.com/openai/deployments/whisper-1/audio/transcriptions?api-version=2024-10-21",
    ],
  ])(
    "%s of %s sends the form on, with the provider's own name of the model",
    async (path, model, url) => {
      const settings = { resource: "old", apiVersion: "2024-10-21", apiKey: "k" };
      const gate = await gatewayUnderTest({ providers: { "azure-openai": settings } });
      await gate.create("tasks");
      const form = new FormData();
      const sound = new Uint8Array(2 * 1024 * 1024).fill(7);
      form.append("file", new Blob([sound], { type: "audio/wav" }), "a.wav");
      form.append("model", model);
      form.append("language", "de");
      const request = new Request("http://x/", { method: "POST", body: form });
      let sent: FormData | undefined;
      gate.transport.behave = async ({ headers, body }) => {
        sent = await new Response(body as Uint8Array<ArrayBuffer>, {
          headers: headers.map(([name, value]): [string, string] => [name, value]),
        }).formData();
        return jsonReply({ text: "Hallo", usage: { input_tokens: 5, output_tokens: 2 } });
      };
      const answer = await gate.send(`tasks/compat/${path}`, {
        method: "POST",
        headers: { "content-type": request.headers.get("content-type") ?? "" },
        body: new Uint8Array(await request.arrayBuffer()),
      });
      expect([answer.status, await answer.json()]).toMatchObject([200, { text: "Hallo" }]);
      expect(gate.transport.requests.map((one) => one.url)).toEqual([url]);
      expect(sent?.get("model")).toBe(model.slice(model.indexOf("/") + 1));
      expect([sent?.get("language"), (sent?.get("file") as File | undefined)?.size]).toEqual([
        "de",
        sound.length,
      ]);
      expect((await gate.logs("tasks", 1))[0]).toMatchObject({
        model: model.slice(model.indexOf("/") + 1),
        model_type: path.startsWith("images/") ? "image-generation" : "speech-to-text",
        tokens_in: 5,
      });
      await gate.close();
    },
  );

  it.each([[[]], [["openai/a", "openai/b"]]])(
    "by a form with the models %j is refused",
    (models) => {
      const parts = models.map(
        (model) => `--b\r\ncontent-disposition: form-data; name="model"\r\n\r\n${model}\r\n`,
      );
      const step = given("audio/transcriptions", "");
      const form: Step = {
        ...step,
        headers: [["content-type", "multipart/form-data; boundary=b"]],
        body: utf8(`${parts.join("")}--b--\r\n`),
      };
      expect(() => compatStep(form)).toThrow('a form needs one field "model"');
    },
  );

  it("has the operator's key, and a row with its model and cost", async () => {
    const gate = await gatewayUnderTest({ providers: { openai: { apiKey: "sk-stored" } } });
    await gate.create("tasks");
    gate.transport.behave = () =>
      jsonReply({ data: [{ embedding: [1] }], usage: { prompt_tokens: 1000, total_tokens: 1000 } });
    const answer = await gate.send(
      "tasks/compat/embeddings",
      jsonInit({ model: "openai/text-embedding-3-small", input: "Hello" }),
    );
    expect([answer.status, await answer.json()]).toMatchObject([200, { data: [{}] }]);
    const [sent] = gate.transport.requests;
    expect([sent?.url, sent && sentHeaders(sent)["authorization"]]).toEqual([
      "https://api.openai.com/v1/embeddings",
      "Bearer sk-stored",
    ]);
    const [row] = await gate.logs("tasks", 1);
    expect(row).toMatchObject({
      provider: "openai",
      model: "text-embedding-3-small",
      model_type: "embeddings",
      tokens_in: 1000,
      cost: 0.000_02,
    });
    await gate.close();
  });

  it("is an inference, which virtual keys may make", () => {
    for (const slug of Object.keys(providers))
      for (const task of unifiedTasks) {
        const rest = taskPath(slug, task);
        if (rest === undefined) continue;
        const path = plainPath(rest);
        expect([slug, rest, isInference({ slug, method: "POST", path })]).toEqual([
          slug,
          rest,
          true,
        ]);
      }
  });
});
