import { expect, it } from "vitest";
import { runToEnd } from "../../../core/work/background.ts";
import { utf8 } from "../../../core/crypto/encoding.ts";
import { type PageUpload, readUpload } from "../../../core/rendering/upload/read-upload.ts";

const boundary = "----boundary-0123456789-0123456789";
const part = (disposition: string, content: string): string =>
  `--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`;
const file = (name: string, content = "x"): string =>
  part(`name="files"; filename="${name}"`, content);

async function read(...parts: string[]): Promise<PageUpload> {
  const steps = await readUpload.load();
  const bytes = utf8(`${parts.join("")}--${boundary}--\r\n`);
  return runToEnd(steps({ bytes, contentType: `multipart/form-data; boundary=${boundary}` }));
}

it("reads a page, its files and the options", async () => {
  const found = await read(
    file("css/a.css", "p {}"),
    part('name="options"', '{"userAgent":"a"}'),
    file("index.html", "<p>ü"),
    file("b"),
  );
  expect(found).toMatchObject({
    html: utf8("<p>ü"),
    contents: utf8("p {}x"),
    files: { "css/a.css": { type: "text/css", from: 0, to: 4 }, b: { from: 4, to: 5 } },
  });
  expect(new TextDecoder().decode(found.options)).toBe('{"userAgent":"a"}');
  expect(new TextDecoder().decode((await read(file("index.html"))).options)).toBe("{}");
});

it("takes names that objects have as well", async () => {
  const { files } = await read(file("index.html"), file("__proto__"), file("constructor"));
  expect(Object.keys(files)).toEqual(["__proto__", "constructor"]);
});

it.each(["../a", "a/../b", "/a", "a//b", "./a", "a/", "c:a", "x".repeat(201)])(
  "refuses the name %j",
  async (name) => {
    await expect(read(file("index.html"), file(name))).rejects.toMatchObject({
      kind: "invalid_request",
      message: expect.stringContaining("is not a name such as"),
    });
  },
);

it("refuses a name that is there twice, a text in the place of a file, and what is no form", async () => {
  const twice = read(file("index.html"), file("a"), file("a"));
  await expect(twice).rejects.toMatchObject({ message: 'files: "a" is there twice' });
  const pages = read(file("index.html"), file("index.html"));
  await expect(pages).rejects.toMatchObject({ message: 'files: "index.html" is there twice' });
  await expect(read(part('name="files"', "x"))).rejects.toMatchObject({
    message: "files: A file is needed, with its name",
  });
  await expect(read(file("index.html"), part('name="url"', "x"))).rejects.toMatchObject({
    message: '"url" is not a part of an upload: put it into "options", which is JSON',
  });
  const steps = await readUpload.load();
  const broken = runToEnd(
    steps({ bytes: utf8("nothing"), contentType: `multipart/form-data; boundary=${boundary}` }),
  );
  await expect(broken).rejects.toMatchObject({
    message: "The body is not a well-formed form (multipart/form-data)",
  });
});
