import { afterEach, describe, expect, it } from "vitest";
import { answerOf, searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";

/** What a server answers to one request: its events, or a body with a status. */
type Reply =
  | { readonly events: readonly (object | string)[] }
  | { readonly status: number; readonly body: unknown };

const delta = (content: string, finish: string | null = null): object => ({
  choices: [{ index: 0, delta: { content }, finish_reason: finish }],
});
const whole = (content: string): Reply => ({
  status: 200,
  body: { choices: [{ index: 0, message: { content }, finish_reason: "stop" }] },
});

describe("answers of a chat model", () => {
  let api: SearchUnderTest;
  let replies: Reply[] = [];
  afterEach(() => api.close());

  const open = async (settings: Record<string, unknown>, ...given: Reply[]): Promise<void> => {
    replies = given;
    const chatModel = (): Promise<Response> => {
      const reply = replies.shift();
      if (reply === undefined) throw new Error("asked once too often");
      if (!("events" in reply))
        return Promise.resolve(Response.json(reply.body, { status: reply.status }));
      const lines = reply.events.map((one) =>
        typeof one === "string" ? one : JSON.stringify(one),
      );
      return Promise.resolve(new Response(lines.map((line) => `data: ${line}\n\n`).join("")));
    };
    api = await searchUnderTest({ chatModel }, settings);
    await api.upload("a.md", "The zebra has stripes.");
  };
  const ask = (body: object, ...earlier: object[]): Promise<Response> =>
    api.raw("POST", "/instances/main/chat/completions", {
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ messages: [...earlier, { role: "user", content: "zebra" }], ...body }),
    });

  it("are whole when their stream ends after the reason to stop, without [DONE]", async () => {
    await open({}, { events: [delta("Stripes."), delta("", "stop")] });
    const text = await (await ask({ stream: true })).text();
    expect(text).not.toContain("event: error");
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  });

  it("tell what the provider says of a failure, in a stream and without one", async () => {
    const error = { message: "The context is too long", type: "invalid_request_error" };
    await open(
      {},
      { events: [delta("Str"), { error }] },
      { status: 200, body: { error } },
      { status: 429, body: { error: "Too many" } },
      { status: 500, body: "no" },
    );
    expect(await (await ask({ stream: true })).text()).toContain(
      'event: error\ndata: {"error":{"message":"The chat model answered an error: The context is too long"',
    );
    const messages: (string | undefined)[] = [];
    for (let n = 0; n < 3; n++) messages.push((await answerOf(await ask({}))).errors[0]?.message);
    expect(messages).toEqual([
      "The chat model answered an error: The context is too long",
      "The chat model answered status 429 and an error: Too many",
      "The chat model answered status 500",
    ]);
  });

  it("cut a long message of a failure off", async () => {
    await open({}, { status: 400, body: { error: { message: "x".repeat(5000) } } });
    const { errors } = await answerOf(await ask({}));
    expect(errors[0]?.message.length).toBeLessThan(1100);
  });

  it("leave what a model thought aloud out of a rewritten query", async () => {
    const earlier = { role: "user", content: "Which animals are there?" };
    const queries: string[] = [];
    for (const rewritten of [
      "<think>The user asks about zebras.</think>\n\nzebra stripes",
      "The user asks…</think>zebra stripes",
      "zebra stripes<think>or",
    ]) {
      await open({ rewrite_query: true }, whole(rewritten));
      const { body } = await api.call("POST", "/instances/main/search", {
        messages: [earlier, { role: "user", content: "zebra" }],
      });
      queries.push(body.result.search_query);
      if (queries.length < 3) await api.close();
    }
    expect(queries).toEqual(["zebra stripes", "zebra stripes", "zebra stripes"]);
  });

  it("keep what they used in the cache, told or estimated", async () => {
    const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
    const told = { choices: [], usage };
    await open({ cache: true }, { events: [delta("Stripes.", "stop"), told, "[DONE]"] });
    await (await ask({ stream: true })).text();
    expect((await answerOf(await ask({}))).usage).toEqual(usage);
    await api.close();
    await open({ cache: true }, { events: [delta("Stripes.", "stop"), "[DONE]"] });
    await (await ask({ stream: true })).text();
    expect((await answerOf(await ask({}))).usage.completion_tokens).toBeGreaterThan(0);
  });
});

describe("quotes of a text without headings", () => {
  it("stand below its key", async () => {
    const api = await searchUnderTest();
    await api.upload("zebra.txt", "The zebra has stripes.", { type: "text/plain" });
    const { body } = await api.call("POST", "/instances/main/chat/completions", {
      messages: [{ role: "user", content: "What does the zebra have?" }],
    });
    expect(body.choices[0]?.message.content).toContain(
      "**zebra.txt** [1]\n\nThe zebra has stripes.",
    );
    await api.close();
  });
});
