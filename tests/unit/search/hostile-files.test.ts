import { expect, it } from "vitest";
import { runToEnd } from "../../../core/work/background.ts";
import { fileReader } from "../../../core/search/files/mod.ts";
import { documentKind } from "../../../core/search/read/file-reader.ts";
import { readText } from "../../../core/search/read/read-text.ts";
import { hostileFiles } from "../../fakes/hostile-files.ts";
import { searchUnderTest } from "../../fakes/search-api.ts";

/** Reads a file here, whatever the platform would read it with. */
async function read(key: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const file = { key, contentType: "", bytes };
  if (documentKind(file) === null)
    return (await runToEnd((await readText.load())({ ...file, keepHtml: false })))?.text ?? "";
  return (await runToEnd((await fileReader.load())(file))).text;
}

it.each(hostileFiles)("$name is refused", async ({ key, bytes, refusal }) => {
  const file = bytes();
  expect(file.length).toBeLessThan(4 * 1024 * 1024);
  await expect(read(key, file)).rejects.toMatchObject({
    kind: "unsupported_file",
    message: expect.stringMatching(refusal),
  });
});

it("a hostile file is an answer to its uploader, and nothing is stored", async () => {
  const api = await searchUnderTest({ readFile: fileReader });
  for (const { key, bytes, refusal } of hostileFiles.filter((file) => /^[ck]/u.test(file.key))) {
    const { status, body } = await api.upload(key, bytes(), { type: "" });
    expect([status, body.errors?.[0]?.code]).toEqual([400, 7060]);
    expect(body.errors[0]?.message).toMatch(refusal);
  }
  expect((await api.call("GET", "/instances/main/items")).body.result).toEqual([]);
  await api.close();
});
