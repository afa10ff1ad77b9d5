import { openPlatform } from "#platform";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { nameWords } from "../../../core/search/text/name-words.ts";
import { keywordIndexName } from "../../../core/search/state/instance-state.ts";
import { keywordStore } from "../../../core/search/keyword/keyword-store.ts";
import { insideInstance } from "../../fakes/inside-instance.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";

describe("nameWords()", () => {
  it.each([
    ["Rechnung-2025-Stadtwerke.pdf", "Rechnung-2025-Stadtwerke"],
    ["steuern/2025/lohn_bescheid.docx", "lohn bescheid"],
    ["https://example.com/docs/rate-limits.html?page=2#top", "rate-limits"],
    ["https://example.com/", ""],
    ["docs/billing/index.md", "billing"],
    ["README.md", "README"],
    ["Invoice #12 caf%C3%A9.txt", "Invoice #12 café"],
    ["100 % sure.txt", "100 % sure"],
    ["version 1.2", "version 1.2"],
    [".env", ".env"],
  ])("reads %j as %j", (key, words) => {
    expect(nameWords(key)).toBe(words);
  });
});

const text = "Der Betrag von 84,20 Euro ist bis zum Monatsende zu zahlen.";

describe("the keyword index of a version before", () => {
  const actor = "one";
  const row = (id: number) => ({
    sql: `INSERT INTO search_chunks (actor, id, item_id, ord, start_byte, end_byte, heading, text) VALUES (?, ?, 'i', ?, 0, 9, '', 'betrag')`,
    params: [actor, id, id],
  });
  const item = {
    sql: `INSERT INTO search_items (actor, id, key, status, revision, metadata, checksum, size, content_type, created_ms, modified_ms, seen_ms)
      VALUES (?, 'i', 'Rechnung-Stadtwerke.pdf', 'completed', 1, '{}', '', 9, '', 0, 0, 0)`,
    params: [actor],
  };

  it.each(["is made again", "is made again by the first change of an item"])("%s", async (name) => {
    const platform = await openPlatform();
    const found = await insideInstance(platform, async (context) => {
      const index = await keywordIndexName(actor);
      const create = `CREATE VIRTUAL TABLE ${index} USING fts5 (heading, body, content = '', contentless_delete = 1, tokenize = 'porter unicode61')`;
      const old = `INSERT INTO ${index} (rowid, heading, body) VALUES (1, '', 'betrag')`;
      await context.sql.batch([{ sql: create }, { sql: old }, item, row(1)]);
      const store = keywordStore(context, { actor, index });
      if (name === "is made again") await store.renew("porter");
      const chunks = [{ id: 2, key: "Rechnung-Stadtwerke.pdf", heading: "", text: "betrag" }];
      const change = { type: "item", itemId: "i", chunks, tokenizer: "porter" } as const;
      if (name !== "is made again")
        await store.commit(change, (together) => context.sql.batch([...together, row(2)]));
      const query = `SELECT rowid AS id, bm25(${index}, 3.0, 1.0, 1.0) FROM ${index} WHERE ${index} MATCH ?`;
      return store.all(query, ["stadtwerke AND betrag"]);
    });
    expect(found.map(({ id }) => id)).toEqual([name === "is made again" ? 1 : 2]);
    await platform.close();
  });
});

describe("words of file names", () => {
  let api: SearchUnderTest;
  beforeEach(async () => {
    api = await searchUnderTest();
    await api.upload("Rechnung-2025-Stadtwerke.txt", text, { metadata: { paid: "no" } });
    await api.upload("other.txt", "Some other text about cables and a price to pay.");
  });
  afterEach(() => api.close());

  const keys = async (query: string, more: Record<string, unknown> = {}): Promise<string[]> => {
    const found = await api.search(query, { retrieval_type: "keyword", ...more });
    return found.map(({ item }) => item.key);
  };
  const invoice = ["Rechnung-2025-Stadtwerke.txt"];

  it("find the file, also with words of its text, and in a hybrid search", async () => {
    expect(await keys("Stadtwerke")).toEqual(invoice);
    expect(await keys("stadtwerke betrag", { keyword_match_mode: "and" })).toEqual(invoice);
    const [first] = await api.search("Stadtwerke", { retrieval_type: "hybrid" });
    expect(first?.item.key).toBe(invoice[0]);
    expect(first?.scoring_details.coverage).toBe(1);
  });

  it("are completed, corrected, filtered and excluded as others are", async () => {
    expect(await keys("stadtw", { prefix: true })).toEqual(invoice);
    expect(await keys("stadtwreke", { typo_tolerance: { enabled: true } })).toEqual(invoice);
    expect(await keys("stadtwerke", { filters: { filename: invoice[0] } })).toEqual(invoice);
    expect(await keys("stadtwerke", { filters: { filename: "other.txt" } })).toEqual([]);
    expect(await keys("price -other", { query_operators: true })).toEqual([]);
  });

  it("count less than words of a heading", async () => {
    await api.upload("notes.md", "# Stadtwerke\n\nThis is about a visit.");
    expect((await keys("Stadtwerke"))[0]).toBe("notes.md");
  });

  it("stay when its text is replaced, and go with it", async () => {
    await api.upload("Rechnung-2025-Stadtwerke.txt", "Ganz anderer Text.");
    expect(await keys("Stadtwerke")).toEqual(invoice);
    expect(await keys("Betrag")).toEqual([]);
    const { body } = await api.call("GET", "/namespaces/default/instances/main/items");
    const item = body.result.find(({ key }) => key === invoice[0]);
    await api.call("DELETE", `/namespaces/default/instances/main/items/${item?.id ?? ""}`);
    await api.upload("Stadtbus.txt", text);
    expect(await keys("Stadtwerke")).toEqual([]);
    expect(await keys("Stadtbus")).toEqual(["Stadtbus.txt"]);
  });

  it("are there after a change of the tokenizer", async () => {
    await api.call("PUT", "/instances/main", {
      indexing_options: { keyword_tokenizer: "trigram" },
    });
    expect(await keys("adtwerk")).toEqual(invoice);
  });
});
