import { afterEach, describe, expect, it } from "vitest";
import type { AskedQuestion } from "../../../core/search/rows/question-log.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";

let api: SearchUnderTest;
afterEach(() => api.close());

const DAY = 24 * 60 * 60 * 1000;
const keyword = { index_method: { vector: false, keyword: true } };

async function report(kind = "all", instance = "main"): Promise<AskedQuestion[]> {
  const answer = await api.call("GET", `/instances/${instance}/questions?kind=${kind}`);
  expect(answer.status).toBe(200);
  return answer.body.result as unknown as AskedQuestion[];
}

const questionsOf = (all: readonly AskedQuestion[]): string[] =>
  all.map(({ question }) => question);

describe("the report of questions", () => {
  it("counts what was asked, not found and badly answered, whatever the letter case", async () => {
    api = await searchUnderTest({}, keyword);
    await api.upload("ferry.md", "The ferry leaves at noon.");
    for (const query of [
      "ferry",
      "Ferry!",
      "zeppelin",
      "zeppelin",
      "ferry zeppelin airport harbour",
    ])
      await api.search(query);
    expect(await report()).toMatchObject([
      { question: "zeppelin", asked: 2, not_found: 2, low_score: 0, best_score: 0, clicks: 0 },
      { asked: 2, not_found: 0, low_score: 0, best_score: 1 },
      { question: "ferry zeppelin airport harbour", asked: 1, not_found: 0, low_score: 1 },
    ]);
    expect(questionsOf(await report("not_found"))).toEqual(["zeppelin"]);
    expect(questionsOf(await report("low_score"))).toEqual(["ferry zeppelin airport harbour"]);
  });

  it("has the questions of chats, and not what somebody is still typing", async () => {
    api = await searchUnderTest({}, keyword);
    await api.upload("ferry.md", "The ferry leaves at noon.");
    await api.search("fer", { prefix: true });
    const messages = [{ role: "user", content: "When does the ferry leave?" }];
    await api.call("POST", "/instances/main/chat/completions", { messages });
    expect(questionsOf(await report())).toEqual(["When does the ferry leave?"]);
  });

  it("counts the clicks that clients tell", async () => {
    api = await searchUnderTest({}, keyword);
    await api.upload("ferry.md", "The ferry leaves at noon.");
    await api.search("ferry");
    await api.search("noon");
    const click = async (query: string): Promise<unknown> =>
      (await api.call("POST", "/instances/main/clicks", { query })).body.result;
    expect(await click("FERRY")).toEqual({ counted: true });
    expect(await click("fer")).toEqual({ counted: true });
    expect(questionsOf(await report("no_clicks"))).toEqual(["noon"]);
    expect(await report()).toContainEqual(
      expect.objectContaining({ question: "fer", asked: 1, clicks: 1, best_score: null }),
    );
  });

  it("is of one instance, and goes with it", async () => {
    api = await searchUnderTest({}, keyword);
    await api.call("POST", "/instances", { id: "other", ...keyword });
    await api.search("zeppelin");
    expect(await report("all", "other")).toEqual([]);
    expect(await report()).toHaveLength(1);
    await api.call("DELETE", "/instances/main");
    expect((await api.call("GET", "/instances/main/questions")).status).toBe(404);
    await api.call("POST", "/instances", { id: "main", ...keyword });
    expect(await report()).toEqual([]);
  });

  it("forgets a question after 30 days, and all of them when asked to", async () => {
    const skew = { ms: 0 };
    api = await searchUnderTest({}, keyword, undefined, {}, {}, skew);
    await api.search("zeppelin");
    expect(await report()).toHaveLength(1);
    skew.ms = 29 * DAY;
    await api.search("airship");
    expect(await report()).toHaveLength(2);
    skew.ms = 31 * DAY;
    expect(questionsOf(await report())).toEqual(["airship"]);
    await api.call("DELETE", "/instances/main/questions");
    expect(await report()).toEqual([]);
  });

  it("keeps the thousand questions that were asked last", async () => {
    api = await searchUnderTest({}, keyword);
    for (let n = 0; n < 1_010; n++) {
      await api.search(`zeppelin ${n}`);
      if (n % 500 === 499) await report();
    }
    await report();
    const { body } = await api.call("GET", "/instances/main/questions?per_page=1");
    expect(body.result_info["total_count"]).toBe(1_000);
  });

  it("forgets what was asked when the instance begins to keep nothing", async () => {
    api = await searchUnderTest({}, keyword);
    await api.search("zeppelin");
    expect(await report()).toHaveLength(1);
    await api.search("airship");
    const put = await api.call("PUT", "/instances/main", { log_questions: false });
    expect(put.status).toBe(200);
    expect(await report()).toEqual([]);
    await api.call("PUT", "/instances/main", { log_questions: true });
    expect(await report()).toEqual([]);
  });

  it("has nothing that was asked of a former instance of the name", async () => {
    api = await searchUnderTest({}, keyword);
    await api.search("zeppelin");
    await api.call("DELETE", "/instances/main");
    await api.call("POST", "/instances", { id: "main", ...keyword });
    expect(await report()).toEqual([]);
  });

  it("keeps nothing where the instance says so", async () => {
    api = await searchUnderTest({}, { ...keyword, log_questions: false });
    await api.search("zeppelin");
    const { body } = await api.call("POST", "/instances/main/clicks", { query: "zeppelin" });
    expect(body.result).toEqual({ counted: false });
    expect(await report()).toEqual([]);
  });
});
