import { afterEach, describe, expect, it } from "vitest";
import { fileReader } from "../../../core/search/files/mod.ts";
import { readHere } from "../../fakes/read-here.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";
import { pdf, pptx } from "../../fakes/search-documents.ts";
import { fakeChatModel } from "../../fakes/search-models.ts";

// The pages that results and chunks are from. The fourth page begins code as Markdown does, and the fifth one has no text.

const report = pdf(
  "Herons stand in shallow water.",
  "Otters sleep holding hands.",
  "F\\374chse jagen nachts allein.",
  "```",
  "",
  "Badgers dig setts below ground.",
);

let api: SearchUnderTest | undefined;
afterEach(async () => {
  await api?.close();
  api = undefined;
});

async function opened(
  settings: Record<string, unknown> = {},
  options: Parameters<typeof searchUnderTest>[0] = {},
): Promise<SearchUnderTest> {
  const parts = { readFile: fileReader, ...options };
  api = await searchUnderTest(parts, settings, undefined, {}, readHere);
  return api;
}

/** Text, first page and last page of each chunk of an item. */
async function pagesOf({ call }: SearchUnderTest, item: string): Promise<unknown[]> {
  const { body } = await call("GET", `/instances/main/items/${item}/chunks`);
  return body.result.map((chunk) => {
    const {
      text,
      page_number: first,
      last_page_number: last,
    } = chunk as unknown as {
      readonly text: string;
      readonly page_number?: number;
      readonly last_page_number?: number;
    };
    return [text.split("\n").at(-1), first, last];
  });
}

const PAGES = [
  ["Herons stand in shallow water.", 1, undefined],
  ["Otters sleep holding hands.", 2, undefined],
  ["Füchse jagen nachts allein.", 3, undefined],
  // What begins there ends nowhere.
  ["Badgers dig setts below ground.", 4, 6],
];

describe("pages of a PDF", () => {
  it("are told of each chunk, also after the item was indexed again", async () => {
    const main = await opened();
    const { upload, call, search } = main;
    const { body } = await upload("report.pdf", report, { type: "application/pdf" });
    const item = body.result.id;
    expect(await pagesOf(main, item)).toEqual(PAGES);
    const [otters] = await search("otters sleep");
    expect(otters).toMatchObject({ page_number: 2 });
    expect(otters).not.toHaveProperty("last_page_number");
    const [badgers] = await search("badgers", { metadata_only: true });
    expect(badgers).toMatchObject({ text: "", page_number: 4, last_page_number: 6 });
    const again = { next_action: "INDEX", wait_for_completion: true };
    const synced = await call("PATCH", `/instances/main/items/${item}`, again);
    expect(synced.body.result.status).toBe("completed");
    expect(await pagesOf(main, item)).toEqual(PAGES);
  });

  it("are those of a result's neighbours, too", async () => {
    const { upload, search } = await opened();
    await upload("report.pdf", report, { type: "application/pdf" });
    const [otters] = await search("otters sleep", { context_expansion: 1, max_num_results: 1 });
    expect(otters?.text).toContain("Herons");
    expect(otters).toMatchObject({ page_number: 1, last_page_number: 3 });
  });

  it("are all of them where a file is one chunk", async () => {
    const { upload, search } = await opened({ chunk: false });
    await upload("report.pdf", report, { type: "application/pdf" });
    expect(await search("badgers")).toMatchObject([{ page_number: 1, last_page_number: 6 }]);
  });

  it("are told to the chat model and with its answer", async () => {
    const model = fakeChatModel(["On page 2."]);
    const { upload, call } = await opened({}, { chatModel: model });
    await upload("report.pdf", report, { type: "application/pdf" });
    const { body } = await call("POST", "/instances/main/chat/completions", {
      messages: [{ role: "user", content: "How do otters sleep?" }],
    });
    expect(body.chunks[0]).toMatchObject({ page_number: 2, item: { key: "report.pdf" } });
    expect(model.calls[0]?.body.messages[0]?.content).toContain('"page":2,"heading":"Page 2"');
  });
});

describe("other files", () => {
  it("have the slides of a presentation as pages", async () => {
    const main = await opened();
    const { body } = await main.upload("talk.pptx", pptx(), { type: "" });
    expect(await pagesOf(main, body.result.id)).toEqual([
      ["Boats are moored here.", 1, undefined],
      ["The tide turns at four.", 2, undefined],
    ]);
  });

  it("have no pages, whatever their headings say", async () => {
    const { upload, search } = await opened();
    await upload("notes.md", "# Page 7\n\nThe lynx waits.");
    const [lynx] = await search("lynx");
    expect(lynx?.heading).toBe("Page 7");
    expect(lynx).not.toHaveProperty("page_number");
  });
});
