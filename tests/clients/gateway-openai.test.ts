import { randomUUID } from "node:crypto";
import OpenAI, { toFile } from "openai";
import { describe, expect, inject, it } from "vitest";
import { fingerprint, soundBytes, spoken, spokenParts } from "../http/native-model.ts";
import { native, providerUrl, rowsOf } from "./gateway-native.ts";

function openai(
  headers: Record<string, string> = {},
  options: { maxRetries?: number } = {},
): OpenAI {
  return new OpenAI({
    apiKey: "sk-provider",
    baseURL: providerUrl("openai"),
    defaultHeaders: native(headers),
    maxRetries: 0,
    ...options,
  });
}
const sum = fingerprint(soundBytes);
const sound = () => toFile(soundBytes, "grüße.mp3", { type: "audio/mpeg" });

describe("openai: responses", () => {
  it("creates one, and the log knows its tokens", async () => {
    const event = randomUUID();
    const client = openai({ "cf-aig-event-id": event });
    const { data, response } = await client.responses
      .create({ model: "gpt-5", input: "Hello" })
      .withResponse();
    expect(data.output_text).toBe(spoken);
    expect(data.usage?.total_tokens).toBe(17);
    expect(response.headers.get("cf-aig-event-id")).toBe(event);
    const [row] = await rowsOf(event);
    expect(row).toMatchObject({ model: "gpt-5", success: true, tokens_in: 12, tokens_out: 5 });
    expect(row?.["id"]).toBe(response.headers.get("cf-aig-log-id"));
  });

  it("streams the events of one, and the log knows its tokens", async () => {
    const event = randomUUID();
    const client = openai({ "cf-aig-event-id": event });
    const stream = await client.responses.create({ model: "gpt-5", input: "Hello", stream: true });
    const types: string[] = [];
    let text = "";
    for await (const one of stream) {
      types.push(one.type);
      if (one.type === "response.output_text.delta") text += one.delta;
    }
    expect(text).toBe(spoken);
    expect([types[0], types.at(-1)]).toEqual(["response.created", "response.completed"]);
    expect(types).toHaveLength(7 + spokenParts.length);
    const rows = await rowsOf(event);
    expect(rows).toMatchObject([{ success: true, tokens_in: 12, tokens_out: 5 }]);
  });

  it("collects a stream with the client's own helper", async () => {
    const stream = openai().responses.stream({ model: "gpt-5", input: "Hello" });
    const final = await stream.finalResponse();
    expect([final.output_text, final.status]).toEqual([spoken, "completed"]);
  });

  it("gets the provider's own error of an unknown model", async () => {
    const pending = openai().responses.create({ model: "missing-model", input: "Hello" });
    const error: unknown = await pending.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.NotFoundError);
    expect(error).toMatchObject({
      status: 404,
      code: "model_not_found",
      type: "invalid_request_error",
      requestID: "req-of-the-provider",
    });
  });
});

describe("openai: embeddings", () => {
  it("decodes them from base64, which it asks for by itself", async () => {
    const event = randomUUID();
    const client = openai({ "cf-aig-event-id": event });
    const input = ["one", "two"];
    const { data, usage } = await client.embeddings.create({ model: "embedder", input });
    expect(data.map(({ embedding }) => [...embedding])).toEqual([
      [0.25, -0.5, 1],
      [0.25, -0.5, 1],
    ]);
    expect(usage.total_tokens).toBe(6);
    expect(await rowsOf(event)).toMatchObject([{ model: "embedder", tokens_in: 6 }]);
  });
});

describe("openai: files and sound", () => {
  it("uploads a file as multipart, byte for byte", async () => {
    const file = await openai().files.create({ file: await sound(), purpose: "user_data" });
    expect(file).toMatchObject({
      id: "file-1",
      filename: "grüße.mp3",
      bytes: soundBytes.length,
      purpose: "user_data",
      status_details: sum,
    });
  });

  it("downloads a file, byte for byte", async () => {
    const content = await openai().files.content("file-1");
    expect(fingerprint(new Uint8Array(await content.arrayBuffer()))).toBe(sum);
  });

  it("receives spoken sound, byte for byte", async () => {
    const answer = await openai().audio.speech.create({
      model: "tts",
      voice: "alloy",
      input: "Hi",
    });
    expect(answer.headers.get("content-type")).toBe("audio/mpeg");
    expect(fingerprint(new Uint8Array(await answer.arrayBuffer()))).toBe(sum);
  });

  it("has sound transcribed, whole and as a stream", async () => {
    const client = openai();
    const model = "transcriber";
    const whole = await client.audio.transcriptions.create({ model, file: await sound() });
    expect(whole.text).toBe(`grüße.mp3 ${sum}`);
    const stream = await client.audio.transcriptions.create({
      model,
      file: await sound(),
      stream: true,
    });
    let text = "";
    for await (const event of stream)
      if (event.type === "transcript.text.delta") text += event.delta;
    expect(text).toBe(spoken);
  });
});

describe("openai: failures", () => {
  it("sees nothing of those that the gateway's own tries get over", async () => {
    const event = randomUUID();
    const client = openai({
      "cf-aig-event-id": event,
      "cf-aig-max-attempts": "3",
      "cf-aig-retry-delay": "1",
      "x-test-failures": "2",
    });
    expect((await client.responses.create({ model: "m", input: "Hello" })).output_text).toBe(
      spoken,
    );
    const statuses = (await rowsOf(event, 3)).map((row) => row["status_code"]);
    expect(statuses).toHaveLength(3);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
  });

  it("tries again by itself when the gateway does not", async () => {
    const client = openai({ "x-test-failures": "1" }, { maxRetries: 1 });
    expect((await client.responses.create({ model: "m", input: "Hello" })).output_text).toBe(
      spoken,
    );
  });

  it("gets a provider's 503 as it is", async () => {
    const client = openai({ "x-test-failures": "1" });
    const error: unknown = await client.responses
      .create({ model: "m", input: "Hello" })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.InternalServerError);
    expect(error).toMatchObject({ status: 503, type: "server" });
  });

  it("learns from an error of the gateway which one it is", async () => {
    const client = new OpenAI({
      apiKey: "sk-provider",
      baseURL: providerUrl("openai", "no-such-gateway"),
      defaultHeaders: { "cf-aig-authorization": `Bearer ${inject("token")}` },
      maxRetries: 0,
    });
    const error: unknown = await client.embeddings
      .create({ model: "m", input: "x" })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(String(error)).toContain("2001");
  });

  it("takes an answer from the cache for the same request", async () => {
    const client = openai({ "cf-aig-cache-ttl": "60", "cf-aig-cache-key": randomUUID() });
    const ask = () => client.responses.create({ model: "m", input: "Hello" }).withResponse();
    const first = await ask();
    const second = await ask();
    expect(second.data).toEqual(first.data);
    const states = [first, second].map(({ response }) =>
      response.headers.get("cf-aig-cache-status"),
    );
    expect(states).toEqual(["MISS", "HIT"]);
  });
});

describe("openai: compat", () => {
  const compat = (): OpenAI =>
    new OpenAI({
      apiKey: inject("token"),
      baseURL: providerUrl("compat", "default"),
      defaultHeaders: native(),
      maxRetries: 0,
    });

  it("reaches the provider that the model names, with the gateway's token as its key", async () => {
    const answer = await compat().chat.completions.create({
      model: "groq/llama",
      messages: [{ role: "user", content: "Hello" }],
    });
    expect([answer.model, answer.choices[0]?.message.content]).toEqual(["llama", spoken]);
  });
});
