import { afterAll, beforeAll, expect, it } from "vitest";
import { fileReader } from "../../../core/search/files/mod.ts";
import { readHere } from "../../fakes/read-here.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";
import { charsetText } from "../../fakes/search-charsets.ts";
import { pdf } from "../../fakes/search-documents.ts";

let api: SearchUnderTest;
beforeAll(async () => {
  api = await searchUnderTest({ readFile: fileReader }, {}, undefined, {}, readHere);
});
afterAll(() => api.close());

async function read(key: string, mail: string | Uint8Array) {
  const { status, body } = await api.upload(key, mail, { type: "" });
  expect([status, body.errors, body.result?.status]).toEqual([200, [], "completed"]);
  const found = await api.call("GET", `/instances/main/items/${body.result.id}/chunks`);
  const chunks = found.body.result.map((chunk) => ("text" in chunk ? String(chunk.text) : ""));
  return { text: chunks.join("\n\n"), warnings: body.result.warnings ?? [] };
}

/** A mail of parts, each with its headers and its content. */
function mailOf(kind: string, parts: readonly string[], boundary: string = "x"): string {
  const head = `From: a@example.com\nTo: b@example.com\nCc: Carla Copy <c@example.com>\nSubject: Ferry\nMIME-Version: 1.0\nContent-Type: multipart/${kind}; boundary=${boundary}\n\n`;
  return `${head}${parts.map((part) => `--${boundary}\n${part}\n`).join("")}--${boundary}--\n`;
}

const attached = (name: string, type: string, content: string): string =>
  `Content-Type: ${type}; name=${name}\nContent-Disposition: attachment; filename=${name}\n${content}`;
const base64 = (bytes: Uint8Array): string =>
  `Content-Transfer-Encoding: base64\n\n${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))}`;

it("a mail with a blank text is its HTML, and names who got a copy", async () => {
  const { text } = await read(
    "blank.eml",
    mailOf("alternative", [
      "Content-Type: text/plain\n\n \n",
      "Content-Type: text/html\n\n<p>The okapi invoice.</p>",
    ]),
  );
  expect(text).toBe(
    "# Ferry\n\nFrom: <a@example.com>\nTo: <b@example.com>\nCc: Carla Copy <c@example.com>\n\nThe okapi invoice.",
  );
});

it("texts, documents and mails that are attached are read", async () => {
  const { text, warnings } = await read(
    "many.eml",
    mailOf("mixed", [
      "Content-Type: text/plain\n\nSee below.",
      attached("notes.txt", "text/plain", "\nThe sloth notes."),
      attached("rows.csv", "text/csv", "\nName,City\nIbex,Bern"),
      attached("plan.pdf", "application/pdf", base64(pdf("Tapir plan."))),
      attached(
        "old.eml",
        "message/rfc822",
        "\nSubject: Older\n\nThe wombat said so.\n-----\nBy hand.",
      ),
      attached("cards.bin", "application/octet-stream", base64(new Uint8Array([0, 1, 2]))),
    ]),
  );
  expect(text).toContain("## Attached: notes.txt\n\nThe sloth notes.");
  expect(text).toContain("| Name | City |\n| --- | --- |\n| Ibex | Bern |");
  expect(text).toContain("Tapir plan.");
  expect(text).toContain("# Older");
  expect(text).toContain("The wombat said so.");
  expect(warnings).toEqual([
    { code: "attachment_not_read", message: expect.stringMatching(/^cards\.bin: .*not text/u) },
  ]);
});

it("mails that are attached to each other are read three deep", async () => {
  let mail = "Subject: Inmost\n\nThe deep kudu.";
  for (let n = 0; n < 5; n++)
    mail = mailOf("mixed", [attached("in.eml", "message/rfc822", `\n${mail}`)], `x${n}`);
  const { text, warnings } = await read("deep.eml", mail);
  expect(text).not.toContain("deep kudu");
  expect(warnings).toMatchObject([
    { code: "attachment_not_read", message: expect.stringContaining("a mail within mails") },
  ]);
});

it("a mail that names no charset is read as the one that it is like", async () => {
  const { text, bytes } = charsetText("koi8-r");
  const head = new TextEncoder().encode("Subject: Terms\n\n");
  const found = await read("koi8.eml", new Uint8Array([...head, ...bytes]));
  expect(found.text).toBe(`# Terms\n\n${text}`);
  expect(found.warnings).toMatchObject([{ code: "charset_guessed" }]);
});

it("a mailbox is all of its mails, with their charsets and attachments", async () => {
  const first = mailOf("mixed", [
    "Content-Type: text/plain\n\nThe pangolin letter.\n\n>From here on.",
    attached("notes.txt", "text/plain", base64(new TextEncoder().encode("The numbat note."))),
    attached("a.zip", "application/zip", base64(Uint8Array.of(0x50, 0x4b, 3, 4))),
  ]);
  const second =
    "Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\nContent-Transfer-Encoding: quoted-printable\n\nA long ka=\nngaroo.\n";
  const line = "From ann@example.com Sun Nov 29 13:33:02 2026\n";
  const { text, warnings } = await read("inbox.mbox", `${line}${first}\n${line}${second}`);
  for (const words of ["# Ferry", "The pangolin letter.", "The numbat note.", "# Grüße"])
    expect(text).toContain(words);
  expect(text).toContain("A long kangaroo.");
  expect(text).not.toContain("ann@example.com");
  expect(warnings).toMatchObject([{ message: expect.stringMatching(/^mail 1: a\.zip: /u) }]);
});

it("a page that a browser saved as one file is its text, without its style sheets", async () => {
  const page = `From: <Saved by Blink>\nSubject: Ferries\nMIME-Version: 1.0\nContent-Type: multipart/related; type="text/html"; boundary=x\n\n--x\nContent-Type: text/html\nContent-Transfer-Encoding: quoted-printable\nContent-Location: https://example.com/\n\n<p>The wal=\nrus=C3=BC</p>\n--x\nContent-Type: text/css\nContent-Location: https://example.com/a.css\n\n.axolotl{}\n--x\nContent-Type: image/png\nContent-Location: https://example.com/a.png\n\nx\n--x--\n`;
  const { text, warnings } = await read("ferries.mht", page);
  expect([text, warnings]).toEqual(["# Ferries\n\nFrom: Saved by Blink\n\nThe walrusü", []]);
  expect((await read("ferries.mhtml", page)).text).toBe(text);
});

it("a byte order mark before a mail hides no header", async () => {
  const { text } = await read("mark.eml", "\uFEFFSubject: Ferry\nTo: b@example.com\n\nThe tapir.");
  expect(text).toBe("# Ferry\n\nTo: <b@example.com>\n\nThe tapir.");
});
