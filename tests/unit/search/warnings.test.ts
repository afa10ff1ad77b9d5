import { afterEach, expect, it } from "vitest";
import type { FileReader, FileWarning } from "../../../core/search/files/mod.ts";
import { readHere } from "../../fakes/read-here.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";

let api: SearchUnderTest;
afterEach(() => api.close());

/** Reads the warnings of a document from its own text, one a line: `code message`, or `code page message`. */
const reader: FileReader = {
  name: "test/warnings",
  load: () =>
    Promise.resolve(function* ({ bytes }) {
      yield;
      const text = new TextDecoder().decode(bytes);
      const lines = text.split("\n").slice(1).filter(Boolean);
      const warnings = lines.map((line): FileWarning => {
        const [, code = "", page, message = ""] = /^(\S+) (?:(\d+) )?(.*)$/.exec(line) ?? [];
        return { code, message, ...(page === undefined ? {} : { page: Number(page) }) };
      });
      return { text: text.split("\n")[0] ?? "", format: "markdown" as const, warnings };
    }),
};

/** The API over that reader: threads know only causey's own. */
const withReader = (settings: Record<string, unknown> = {}): Promise<SearchUnderTest> =>
  searchUnderTest({ readFile: reader }, settings, undefined, {}, readHere);

const lost: readonly FileWarning[] = [
  { code: "part_not_read", message: "chapter2.xhtml: it is damaged" },
  { code: "page_without_text", message: "only a picture", page: 3 },
];
const file =
  "Found words\npart_not_read chapter2.xhtml: it is damaged\npage_without_text 3 only a picture";

it("an item says what of its file could not be read, wherever it is shown", async () => {
  api = await withReader();
  const { body } = await api.upload("a.epub", file, { type: "", metadata: { extra: 1 } });
  const { id } = body.result;
  expect(body.result).toMatchObject({ status: "completed" });
  expect(body.result.warnings).toEqual([
    { code: "custom_metadata_field_not_filterable", field: "extra" },
    ...lost,
  ]);
  const shown = await api.call("GET", `/instances/main/items/${id}`);
  expect(shown.body.result.warnings).toEqual(lost);
  const listed = await api.call("GET", "/instances/main/items");
  expect(listed.body.result[0]?.warnings).toEqual(lost);
  const logs = await api.call("GET", `/instances/main/items/${id}/logs`);
  expect(logs.body.result).toMatchObject([
    {
      errorType: null,
      chunkCount: 1,
      message: "chapter2.xhtml: it is damaged; page 3: only a picture",
    },
  ]);
});

it("they are those of what is indexed: a whole file has none", async () => {
  api = await withReader();
  const { body } = await api.upload("a.epub", file, { type: "" });
  const again = await api.call("PATCH", `/instances/main/items/${body.result.id}`, {
    next_action: "INDEX",
    wait_for_completion: true,
  });
  expect(again.body.result.warnings).toEqual(lost);
  const whole = await api.upload("a.epub", "Found words", { type: "" });
  expect(whole.body.result.warnings).toBeUndefined();
});

it("they are there of what the queue indexes", async () => {
  api = await withReader({ paused: true });
  await api.upload("a.epub", file, { type: "", wait: false });
  await api.call("PUT", "/instances/main", { paused: false });
  for (;;) {
    const { result } = (await api.call("GET", "/instances/main/items")).body;
    if (result[0]?.status === "completed") {
      expect(result[0].warnings).toEqual(lost);
      return;
    }
    await api.platform.system.sleep(5);
  }
});

it("they are bounded in number and length", async () => {
  api = await withReader();
  const many = Array.from(
    { length: 30 },
    (_, n) => `${"c".repeat(100)} ${n + 1} ${"m".repeat(900)}`,
  );
  const { body } = await api.upload("a.epub", ["Found words", ...many].join("\n"), { type: "" });
  const warnings = body.result.warnings as FileWarning[];
  expect(warnings).toHaveLength(20);
  expect(warnings[0]).toEqual({ code: "c".repeat(64), message: "m".repeat(300), page: 1 });
  expect(warnings[19]).toEqual({ code: "more_warnings", message: "11 more warnings" });
});
