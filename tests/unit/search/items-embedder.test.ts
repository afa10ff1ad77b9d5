import { afterEach, describe, expect, it } from "vitest";
import { fakeEmbedder } from "../../fakes/search-models.ts";
import { searchUnderTest, type SearchUnderTest, type Shown } from "../../fakes/search-api.ts";

let api: SearchUnderTest;
afterEach(() => api.close());

const stats = async (): Promise<Shown> =>
  (await api.call("GET", "/instances/main/stats")).body.result;

/** The item, once it has that status. */
async function statusOf(id: string, status: string): Promise<Shown> {
  for (;;) {
    const { result } = (await api.call("GET", `/instances/main/items/${id}`)).body;
    if (result.status === status) return result;
    await api.platform.system.sleep(5);
  }
}
describe("indexing with a configured embedder", () => {
  it("uses its vectors, and says so", async () => {
    api = await searchUnderTest({ embedder: fakeEmbedder() });
    await api.upload("cat.md", "The cat sleeps.");
    await api.upload("car.md", "The car drives.");
    expect((await api.call("GET", "/instances/main")).body.result.embedding_model).toBe(
      "fake-embedding",
    );
    const chunks = await api.search("cat", { retrieval_type: "vector" });
    expect(chunks).toMatchObject([
      { score: 1, item: { key: "cat.md" }, scoring_details: { vector_score: 1, vector_rank: 1 } },
    ]);
    expect((await api.search("cat"))[0]!.scoring_details.fusion_method).toBe("rrf");
  });

  it.each(["fail", "short", "nan"] as const)(
    "is found by keywords at once when the embedder says %s, and gets its vectors by itself when it works again",
    async (mode) => {
      const embedder = fakeEmbedder();
      api = await searchUnderTest({ embedder });
      await api.upload("a.md", "old cat");
      embedder.mode = mode;
      const { body } = await api.upload("a.md", "new dog");
      expect(body.result).toMatchObject({ status: "error", chunks_count: 1, next_action: "INDEX" });
      expect(body.result.error).toMatch(/^Found by keywords only: The embedder "fake-embedding" /);
      expect(await api.search("cat", { retrieval_type: "keyword" })).toEqual([]);
      expect((await api.search("dog", { retrieval_type: "keyword" }))[0]!.text).toBe("new dog");
      const broken = (await api.call("GET", "/instances/main/stats")).body.result;
      expect(broken).toMatchObject({
        error: 1,
        degraded: true,
        file_embed_errors: { [body.result.error]: 1 },
      });
      const logs = await api.call("GET", `/instances/main/items/${body.result.id}/logs`);
      expect(JSON.stringify(logs.body.result[0])).toContain("(attempt 1; the next in 1 s)");
      embedder.mode = "work";
      const item = await statusOf(body.result.id, "completed");
      expect(item).toMatchObject({ next_action: null });
      expect(item.error).toBeUndefined();
      expect((await api.search("dog", { retrieval_type: "vector" }))[0]!.text).toBe("new dog");
      expect(await stats()).toMatchObject({ error: 0, degraded: false, file_embed_errors: {} });
    },
  );

  it("keeps the old chunks of an instance without keywords until the new ones have vectors", async () => {
    const embedder = fakeEmbedder();
    api = await searchUnderTest({ embedder }, { index_method: { vector: true, keyword: false } });
    await api.upload("a.md", "old cat");
    embedder.mode = "fail";
    const { body } = await api.upload("a.md", "new dog");
    expect(body.result).toMatchObject({ status: "error", next_action: "INDEX" });
    embedder.mode = "work";
    expect((await api.search("cat"))[0]!.text).toBe("old cat");
    await statusOf(body.result.id, "completed");
    expect((await api.search("dog"))[0]!.text).toBe("new dog");
  });

  it("finds every chunk of an item by its own vector", async () => {
    api = await searchUnderTest({ embedder: fakeEmbedder() });
    await api.upload("a.md", "# One\n\nA cat.\n\n# Two\n\nA dog.\n\n# Three\n\nA river.");
    for (const [word, text] of [
      ["cat", "A cat."],
      ["dog", "A dog."],
      ["river", "A river."],
    ] as const) {
      const [chunk] = await api.search(word, { retrieval_type: "vector" });
      expect(chunk).toMatchObject({ score: 1, text: expect.stringContaining(text) });
    }
  });

  it("answers before it is done when nobody waits", async () => {
    const embedder = fakeEmbedder();
    embedder.mode = "hang";
    api = await searchUnderTest({ embedder });
    const { body } = await api.upload("a.md", "cat", { wait: false });
    expect(body.result).toMatchObject({
      status: "running",
      next_action: "INDEX",
      chunks_count: 1,
    });
    expect(await api.search("cat", { retrieval_type: "keyword" })).toHaveLength(1);
    while (embedder.calls.length === 0) await api.platform.system.sleep(1);
    embedder.mode = "work";
    embedder.release();
    await statusOf(body.result.id, "completed");
  });

  it("costs nothing for the same bytes with the same metadata", async () => {
    const embedder = fakeEmbedder();
    const metadata = { team: "x", n: 1 };
    api = await searchUnderTest({ embedder });
    const first = await api.upload("a.md", "A cat.", { metadata });
    const embedded = (): number =>
      embedder.calls.filter(({ purpose }) => purpose === "document").length;
    await api.upload("a.md", "A cat.", { metadata: { n: 1, team: "x" } });
    const again = await api.upload("a.md", "A cat.", { metadata });
    const shown = Object.assign({}, first.body.result, { last_seen_at: expect.any(String) });
    expect(again.body.result).toEqual(shown);
    expect(embedded()).toBe(1);
    expect((await api.search("cat", { retrieval_type: "vector" }))[0]!.text).toBe("A cat.");
    // Anything else is indexed: other metadata, other bytes, other settings, and what failed.
    await api.upload("a.md", "A cat.", { metadata: { team: "y", n: 1 } });
    expect(embedded()).toBe(2);
    await api.upload("a.md", "A dog.", { metadata: { team: "y", n: 1 } });
    expect(embedded()).toBe(3);
    await api.call("PUT", "/instances/main", { chunk_overlap: 20 });
    await api.upload("a.md", "A dog.", { metadata: { team: "y", n: 1 } });
    expect(embedded()).toBe(4);
    embedder.mode = "fail";
    await api.upload("a.md", "A cat.");
    embedder.mode = "work";
    const mended = await api.upload("a.md", "A cat.");
    expect(mended.body.result).toMatchObject({ status: "completed" });
  });

  it("makes its vectors once for two uploads of the same at once", async () => {
    const embedder = fakeEmbedder();
    api = await searchUnderTest({ embedder });
    embedder.mode = "hang";
    const slow = api.upload("a.md", "A cat.");
    while (embedder.calls.length === 0) await api.platform.system.sleep(1);
    const { body } = await api.upload("a.md", "A cat.", { wait: false });
    expect(body.result).toMatchObject({ status: "running", next_action: "INDEX" });
    embedder.mode = "work";
    embedder.release();
    expect((await slow).body.result).toMatchObject({ status: "completed", id: body.result.id });
    expect(embedder.calls).toHaveLength(1);
  });

  it("lets the newest of two overlapping uploads win", async () => {
    const embedder = fakeEmbedder();
    api = await searchUnderTest({ embedder });
    embedder.mode = "hang";
    const slow = api.upload("a.md", "old cat");
    while (embedder.calls.length === 0) await api.platform.system.sleep(1);
    embedder.mode = "work";
    await api.upload("a.md", "new dog");
    embedder.release();
    await slow;
    expect(await api.search("cat", { retrieval_type: "keyword" })).toEqual([]);
    expect((await api.search("dog", { retrieval_type: "keyword" }))[0]!.text).toBe("new dog");
    const near = await api.search("dog", { retrieval_type: "vector", match_threshold: 0 });
    expect(near.map(({ score }) => score)).toEqual([1]);
  });

  it("leaves nothing behind when the item is deleted meanwhile", async () => {
    const embedder = fakeEmbedder();
    api = await searchUnderTest({ embedder });
    embedder.mode = "hang";
    const slow = api.upload("a.md", "cat");
    while (embedder.calls.length === 0) await api.platform.system.sleep(1);
    const [item] = (await api.call("GET", "/instances/main/items")).body.result;
    await api.call("DELETE", `/instances/main/items/${item!.id}`);
    embedder.release();
    expect((await slow).status).toBe(404);
    expect(await stats()).toMatchObject({
      completed: 0,
      running: 0,
      engine: { vectorize: { vectorsCount: 0 }, r2: { objectCount: 0 } },
    });
  });

  it("falls back to the keyword leg when the query cannot be embedded, unless told not to", async () => {
    const embedder = fakeEmbedder();
    api = await searchUnderTest({ embedder });
    await api.upload("a.md", "cat");
    embedder.mode = "fail";
    const [chunk] = await api.search("cat");
    expect(chunk!.scoring_details.vector_score).toBe(0);
    const failing = async (retrieval: unknown): Promise<unknown[]> => {
      const { status, body } = await api.call("POST", "/instances/main/search", {
        query: "cat",
        ai_search_options: { retrieval },
      });
      return [status, body.errors?.[0]?.code];
    };
    expect(await failing({ return_on_failure: false })).toEqual([500, 7073]);
    expect(await failing({ retrieval_type: "vector" })).toEqual([500, 7073]);
  });
});
