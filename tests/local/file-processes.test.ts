import { strToU8, zipSync } from "fflate";
import { expect, it } from "vitest";
import { threads } from "../../adapters/shared/background/threads.ts";
import { localSystem } from "../../adapters/shared/system.ts";
import { documentMarkdown } from "../../core/rendering/input/markdown.ts";
import { fileReader } from "../../core/search/files/mod.ts";
import type { FileReader } from "../../core/search/read/file-reader.ts";

const MB = 1024 * 1024;
const never = new AbortController().signal;
const page = { html: "<p>x", base: null, frontmatter: false };

function docx(text: string): Parameters<Awaited<ReturnType<FileReader["load"]>>>[0] {
  const xml = `<w:document><w:body><w:p><w:r><w:t>${text}</w:t></w:r></w:p></w:body></w:document>`;
  const bytes = zipSync({ "word/document.xml": strToU8(xml) });
  return { key: "a.docx", contentType: "", bytes: new Uint8Array(bytes) };
}

/** A file of so many MB, whose reading takes several times as much, without a text that anybody would count. */
const heavy = (size: number) => docx(`x${"<a b='c'/>".repeat(size * 100_000)}`);

function background(fileBytes: number) {
  const logged: string[] = [];
  const log = (_level: string, message: string): void => void logged.push(message);
  return { logged, ...threads({ system: localSystem(log), log, most: 1, fileBytes }) };
}

it("a file that takes more memory than it may ends what reads it, and nothing else", async () => {
  const { run, close, logged } = background(2 * 140 * MB);
  // Most of it is bytes, which limits of a thread's heap do not count.
  const outcome = run(fileReader, docx(`<!--${"x".repeat(60 * MB)}-->`), never, "a");
  await expect(outcome).rejects.toMatchObject({
    kind: "unsupported_file",
    message: expect.stringMatching(
      /^unsupported_file_type: the file cannot be read: it takes more than 140 MB of memory$/u,
    ),
  });
  expect(await run(fileReader, docx("Hello"), never, "a")).toMatchObject({ text: "Hello" });
  expect(logged).toEqual([]);
  await close();
});

it("a file keeps no conversion waiting, and one owner's no other's", async () => {
  const { run, close } = background(1024 * MB);
  const ended: string[] = [];
  const read = async (name: string, file: ReturnType<typeof docx>) => {
    await run(fileReader, file, never, name.slice(0, 1)).catch(() => undefined);
    ended.push(name);
  };
  await run(fileReader, docx("Hello"), never);
  const all = ["a1", "a2", "a3"].map((name) => read(name, heavy(10)));
  all.push(read("b1", docx("Hello")));
  all.push(run(documentMarkdown, page, never, "a").then(() => void ended.push("page")));
  await Promise.all(all);
  expect(ended.indexOf("page")).toBeLessThan(ended.indexOf("a2"));
  expect(ended.indexOf("b1")).toBeLessThan(ended.indexOf("a2"));
  await close();
});

it("an abort ends the process that reads, and no process stays behind", async () => {
  const { run, close } = background(1024 * MB);
  await run(fileReader, docx("Hello"), never);
  const stop = new AbortController();
  const read = run(fileReader, heavy(60), stop.signal);
  const reason = new Error("enough");
  setTimeout(() => stop.abort(reason), 0);
  await expect(read).rejects.toBe(reason);
  expect(await run(fileReader, docx("Hello"), never)).toMatchObject({ text: "Hello" });
  await close();
});
