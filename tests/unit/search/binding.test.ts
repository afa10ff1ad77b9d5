import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SearchBinding } from "../../../core/search/mod.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";

let subject: SearchUnderTest;
let birds: SearchBinding;
beforeAll(async () => {
  subject = await searchUnderTest();
  await subject.call("POST", "/instances", { id: "birds" });
  await subject.upload("birds.md", "Herons stand in the river.", { instance: "birds" });
  birds = subject.binding("birds");
});
afterAll(() => subject.close());

describe("searchParts().binding()", () => {
  it("finds and answers as the routes do", async () => {
    const { result } = (await subject.call("POST", "/instances/birds/search", { query: "herons" }))
      .body;
    const found = await birds.search({ query: "herons" });
    expect(found).toMatchObject({ search_query: "herons", query_kind: "text", notes: [] });
    expect(found.chunks).toEqual(result.chunks);
    const messages = [{ role: "user", content: "Where do herons stand?" }];
    const answer = await birds.chatCompletions({ messages });
    expect(answer.choices[0]?.message.content).toContain("Herons stand in the river.");
    expect(answer.chunks).toHaveLength(1);
  });

  it("refuses what the routes refuse, streams, and fields that have no effect", async () => {
    const messages = [{ role: "user", content: "herons" }];
    await expect(birds.search({ qeury: "herons" })).rejects.toThrow('did you mean "query"');
    await expect(birds.search({ query: "herons", other: 1 })).rejects.toThrow(
      'Unknown field "other"',
    );
    await expect(birds.search(undefined)).rejects.toMatchObject({ status: 400 });
    await expect(birds.search({ query: "x".repeat(17 * 1024 * 1024) })).rejects.toMatchObject({
      status: 413,
    });
    await expect(birds.chatCompletions({ messages, stream: true })).rejects.toThrow("stream:");
  });

  it("knows only instances of its account and of the namespace", async () => {
    const other = await searchUnderTest({ accountId: "local" });
    const question = { query: "herons" };
    await expect(other.binding("main").search(question)).rejects.toThrow("ai_search_not_found");
    await other.close();
    const own = subject.binding;
    await expect(own("birds", "other").search(question)).rejects.toMatchObject({ status: 404 });
    expect(() => own("../birds")).toThrow("ai_search_not_found");
    expect(() => own("birds", "a/b")).toThrow("namespace_not_found");
  });
});
