import { randomUUID } from "node:crypto";
import { ApiError, FunctionCallingConfigMode, GoogleGenAI } from "@google/genai";
import { describe, expect, it } from "vitest";
import { spoken, spokenParts, toolArguments } from "../http/native-model.ts";
import { gatewayToken } from "../http/prepare-target.ts";
import { native, providerUrl, rowsOf } from "./gateway-native.ts";

function google(headers: Record<string, string> = {}, gateway = "open"): GoogleGenAI {
  const baseUrl = providerUrl("google-ai-studio", gateway);
  return new GoogleGenAI({
    apiKey: "sk-google",
    httpOptions: { baseUrl, headers: native(headers), retryOptions: { attempts: 1 } },
  });
}
const question = { model: "gemini-2.5-flash", contents: "Is anybody there?" };

describe("@google/genai", () => {
  it("generates content, and the log knows its tokens", async () => {
    const event = randomUUID();
    const answer = await google({ "cf-aig-event-id": event }).models.generateContent(question);
    expect(answer.text).toBe(spoken);
    expect(answer.usageMetadata?.totalTokenCount).toBe(16);
    expect(answer.sdkHttpResponse?.headers).toMatchObject({ "cf-aig-event-id": event });
    const rows = await rowsOf(event);
    expect(rows).toMatchObject([
      { model: question.model, success: true, tokens_in: 9, tokens_out: 7 },
    ]);
  });

  it("streams content, and the log knows its tokens", async () => {
    const event = randomUUID();
    const stream = await google({ "cf-aig-event-id": event }).models.generateContentStream(
      question,
    );
    const parts: (string | undefined)[] = [];
    for await (const chunk of stream) parts.push(chunk.text);
    expect(parts).toEqual(spokenParts);
    const rows = await rowsOf(event);
    expect(rows).toMatchObject([
      { model: question.model, success: true, tokens_in: 9, tokens_out: 7 },
    ]);
  });

  it("is asked to call a function", async () => {
    const answer = await google().models.generateContent({
      ...question,
      config: {
        tools: [{ functionDeclarations: [{ name: "weather", parametersJsonSchema: {} }] }],
        toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } },
      },
    });
    expect(answer.functionCalls).toMatchObject([{ name: "weather", args: toolArguments }]);
  });

  it("chats in turns", async () => {
    const chat = google().chats.create({ model: question.model });
    expect((await chat.sendMessage({ message: "One" })).text).toBe(spoken);
    let text = "";
    for await (const chunk of await chat.sendMessageStream({ message: "Two" })) text += chunk.text;
    expect(text).toBe(spoken);
    expect(chat.getHistory()).toHaveLength(4 + spokenParts.length - 1);
  });

  it("counts tokens and embeds", async () => {
    const { models } = google();
    expect((await models.countTokens(question)).totalTokens).toBe(31);
    const { embeddings } = await models.embedContent({ model: "embedder", contents: ["a", "b"] });
    expect(embeddings?.map(({ values }) => values)).toEqual([
      [0.25, -0.5, 1],
      [0.25, -0.5, 1],
    ]);
  });

  it("uploads a file, by way of the gateway to its end", async () => {
    const text = JSON.stringify({ text: "x".repeat(200_000) });
    const headers = { "cf-aig-authorization": `Bearer ${gatewayToken}` };
    const { files } = google(headers, "guarded");
    const file = await files.upload({ file: new Blob([text], { type: "application/json" }) });
    expect(file).toMatchObject({ name: "files/u-1", sizeBytes: String(text.length) });
  });

  it("passes a gateway that wants a token with it, and not without", async () => {
    const authorized = google({ "cf-aig-authorization": `Bearer ${gatewayToken}` }, "guarded");
    expect((await authorized.models.generateContent(question)).text).toBe(spoken);
    const error: unknown = await google({}, "guarded")
      .models.generateContent(question)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ApiError);
    expect((error as ApiError).status).toBe(401);
    expect((error as ApiError).message).toContain("2009");
  });

  it("gets the provider's own error, streamed or not", async () => {
    const { models } = google();
    const missing = { ...question, model: "missing-model" };
    const calls = [
      () => models.generateContent(missing),
      () => models.generateContentStream(missing),
    ];
    for (const call of calls) {
      const error: unknown = await call().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ApiError);
      expect((error as ApiError).status).toBe(404);
      expect((error as ApiError).message).toContain("NOT_FOUND");
    }
  });
});
