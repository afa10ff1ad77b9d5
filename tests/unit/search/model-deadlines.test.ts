import { afterEach, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { search } from "../../../core/search/mod.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";
import { fakeChatModel, fakeEmbedder } from "../../fakes/search-models.ts";

let api: SearchUnderTest;
afterEach(() => api.close());

const question = { messages: [{ role: "user", content: "cat" }] };

describe("an embedder that hangs", () => {
  it("leaves a hybrid search to the keywords, and the answer says so", async () => {
    const embedder = fakeEmbedder();
    api = await searchUnderTest({ embedder, embedderTimeoutMs: 200 });
    await api.upload("cat.md", "The cat sleeps.");
    embedder.mode = "hang";
    const { status, body } = await api.call("POST", "/instances/main/search", question);
    expect(status).toBe(200);
    expect(body.result.chunks[0]?.text).toBe("The cat sleeps.");
    expect(body).toMatchObject({
      messages: [
        {
          code: 10503,
          message:
            'Searched by keywords only: The embedder "fake-embedding" did not answer within 200 ms',
        },
      ],
    });
  });

  it("keeps no upload waiting: its text is found, and the item says what its vectors wait for", async () => {
    const embedder = fakeEmbedder();
    embedder.mode = "hang";
    api = await searchUnderTest({ embedder, embedderTimeoutMs: 20 });
    const { body } = await api.upload("cat.md", "The cat sleeps.");
    expect(await api.search("cat", { retrieval_type: "keyword" })).toHaveLength(1);
    expect(body.result).toMatchObject({
      status: "error",
      error: 'Found by keywords only: The embedder "fake-embedding" did not answer within 20 ms',
    });
  });
});

describe("a chat model that hangs", () => {
  it("before it answers is a failure, and its request ends", async () => {
    const seen: AbortSignal[] = [];
    const chatModel = (request: Request): Promise<Response> => {
      seen.push(request.signal);
      return new Promise(() => undefined);
    };
    api = await searchUnderTest({ chatModel, chatTimeoutMs: 20 });
    await api.upload("cat.md", "The cat sleeps.");
    const { status, body } = await api.call("POST", "/instances/main/chat/completions", question);
    expect([status, JSON.stringify(body)]).toEqual([
      500,
      expect.stringContaining("The chat model did not answer within 20 ms"),
    ]);
    expect(seen.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it("in the middle of a stream breaks it off", async () => {
    const seen: AbortSignal[] = [];
    // No time runs out before the model hangs, however slow the machine.
    const hangs = Promise.withResolvers<void>();
    const chatModel = fakeChatModel(["one", "two"], {
      hold: (piece, signal) => {
        seen[0] = signal;
        if (piece === 0) return Promise.resolve();
        hangs.resolve();
        return new Promise(() => undefined);
      },
    });
    const clock = await openPlatform();
    const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
      ms === 500
        ? Promise.race([hangs.promise, clock.system.sleep(3_600_000, signal)])
        : clock.system.sleep(ms, signal);
    api = await searchUnderTest({ chatModel, chatTimeoutMs: 500 }, {}, undefined, { sleep });
    await api.upload("cat.md", "The cat sleeps.");
    const response = await api.raw("POST", "/instances/main/chat/completions", {
      body: JSON.stringify({ ...question, stream: true }),
      headers: { "content-type": "application/json" },
    });
    expect(await response.text()).toContain(
      'event: error\ndata: {"error":{"message":"The chat model did not answer within 500 ms"',
    );
    expect(seen[0]?.aborted).toBe(true);
    await clock.close();
  });
});

it("refuses a time that is none", async () => {
  api = await searchUnderTest();
  for (const embedderTimeoutMs of [0, Number.NaN, 4_000_000])
    expect(() => search({ platform: api.platform, embedderTimeoutMs })).toThrow(
      "embedderTimeoutMs: expected milliseconds",
    );
});
