import { openPlatform } from "#platform";
import { unzipSync, zlibSync } from "fflate";
import { getDocumentProxy } from "unpdf";
import { describe, expect, it } from "vitest";
import { toBase64, utf8 } from "../../../core/crypto/encoding.ts";
import { pdfEditor } from "../../../core/rendering/pdf-edit/mod.ts";
import type { RenderingSettings } from "../../../core/rendering/mod.ts";
import { readHere } from "../../fakes/read-here.ts";
import { crawlUnderTest } from "../../fakes/rendering-crawl.ts";
import { lockedPdf, pdf } from "../../fakes/search-documents.ts";
import { type PdfParts, pdfOfParts, shown } from "../../fakes/search-pdfs.ts";

type Files = Readonly<Record<string, Uint8Array<ArrayBuffer>>>;

const remote = "https://example.com/report.pdf";

/** Sends PDFs and options to the route, as a form. */
async function open(options: Partial<RenderingSettings>) {
  const headers: [string, string][] = [["content-type", "application/pdf"]];
  const site = { [remote]: { headers, body: pdf("remote 1", "remote 2", "remote 3") } };
  const platform = { ...(await openPlatform()), ...readHere };
  const { app } = await crawlUnderTest(site, options, platform);
  const send = (name: string, init: RequestInit): Promise<Response> =>
    Promise.resolve(
      app.request(`http://test/accounts/a/browser-rendering/${name}`, { method: "POST", ...init }),
    );
  const edit = async (files: Files, edits: object = {}): Promise<Response> => {
    const form = new FormData();
    for (const [name, bytes] of Object.entries(files))
      form.append("files", new File([bytes], name));
    form.append("options", JSON.stringify(edits));
    return send("pdf/edit", { body: form });
  };
  const failure = async (files: Files, edits: object): Promise<[number, string]> => {
    const answer = await edit(files, edits);
    const { errors } = (await answer.json()) as { errors: { message: string }[] };
    return [answer.status, errors[0]?.message ?? ""];
  };
  return { send, edit, failure };
}

/** Opens a PDF with another reader than the one that wrote it. */
async function readerOf(answer: Response) {
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const text = new TextDecoder("latin1").decode(bytes);
  expect([answer.status, text.slice(0, answer.status === 200 ? 5 : 400)]).toEqual([200, "%PDF-"]);
  return { bytes, document: await getDocumentProxy(bytes.slice(), { verbosity: 0 }) };
}

type Reader = Awaited<ReturnType<typeof readerOf>>["document"];

async function textsOf(document: Reader): Promise<string[]> {
  const texts: string[] = [];
  for (let n = 1; n <= document.numPages; n++) {
    const { items } = await (await document.getPage(n)).getTextContent();
    texts.push(
      items
        .map((item) => ("str" in item ? item.str : ""))
        .join("")
        .trim(),
    );
  }
  return texts;
}

/** Its attachments, with what they contain. */
async function attachmentsOf(document: Reader): Promise<unknown[]> {
  // The parser's types call the map a record.
  const found: unknown = await document.getAttachments();
  const entries = found instanceof Map ? [...found] : [];
  return Promise.all(
    entries.map(async ([id, about]) => ({
      ...Object(about),
      content: await document.getAttachmentContent(id),
    })),
  );
}

const textsIn = async (answer: Response): Promise<string[]> =>
  textsOf((await readerOf(answer)).document);

/** Two pages, the first with a link to a name that is the second; `extra` is what the second page says. */
function linked(extra: string, more: Partial<PdfParts> = {}): Uint8Array<ArrayBuffer> {
  return pdfOfParts({
    pages: [
      {
        content: shown([[72, 700, `first of ${extra}`]]),
        entries: "/Annots [<< /Type /Annot /Subtype /Link /Rect [72 690 200 720] /Dest /next >>]",
      },
      { content: shown([[72, 700, `second of ${extra}`]]) },
    ],
    catalog: "/Dests << /next [12 0 R /Fit] >>",
    ...more,
  });
}

/** The page to which the first link of a page leads, counted from 1. */
async function targetOf(document: Reader, page: number): Promise<number | null> {
  const [link] = await (await document.getPage(page)).getAnnotations();
  const dest =
    typeof link?.dest === "string" ? await document.getDestination(link.dest) : link?.dest;
  return Array.isArray(dest) ? (await document.getPageIndex(dest[0])) + 1 : null;
}

/** One server for all tests. */
const shared = open({ editPdf: pdfEditor });
const opened = (): typeof shared => shared;

describe("merging PDFs", () => {
  it("puts the files one behind the other, as they came or as they are named", async () => {
    const { edit } = await opened();
    const files = { "b.pdf": pdf("b1", "b2"), "a.pdf": pdf("a1") };
    expect(await textsIn(await edit(files))).toEqual(["b1", "b2", "a1"]);
    const again = await edit(files, { merge: ["a.pdf", "b.pdf", "a.pdf"] });
    expect(await textsIn(again)).toEqual(["a1", "b1", "b2", "a1"]);
  });

  it("takes JSON with files in base64", async () => {
    const { send } = await opened();
    const files = [{ name: "a.pdf", content: toBase64(pdf("a1", "a2")) }];
    const headers = { "content-type": "application/json" };
    const answer = await send("pdf/edit", { headers, body: JSON.stringify({ files, pages: "2" }) });
    expect(await textsIn(answer)).toEqual(["a2"]);
    expect(answer.headers.get("content-type")).toBe("application/pdf");
  });

  it("keeps links in each document, though both call their targets alike", async () => {
    const { edit } = await opened();
    const { document } = await readerOf(await edit({ "a.pdf": linked("a"), "b.pdf": linked("b") }));
    expect(await textsOf(document)).toEqual([
      "first of a",
      "second of a",
      "first of b",
      "second of b",
    ]);
    expect([await targetOf(document, 1), await targetOf(document, 3)]).toEqual([2, 4]);
  });
});

describe("pages of a PDF", () => {
  it("are those of the ranges, in their order", async () => {
    const { edit } = await opened();
    const files = { "a.pdf": pdf("1", "2", "3", "4", "5", "6") };
    for (const [pages, expected] of [
      ["5-", ["5", "6"]],
      ["-2, 4", ["1", "2", "4"]],
      ["6,1 - 2", ["6", "1", "2"]],
      ["1-", ["1", "2", "3", "4", "5", "6"]],
    ] as const)
      expect(await textsIn(await edit(files, { pages }))).toEqual(expected);
  });

  it("leave nothing of the others behind, whatever links to them", async () => {
    const { edit } = await opened();
    const files = { "a.pdf": linked("secrets") };
    const { bytes, document } = await readerOf(await edit(files, { pages: "1" }));
    expect(await textsOf(document)).toEqual(["first of secrets"]);
    const whole = await readerOf(await edit(files));
    const streams = (all: Uint8Array): number =>
      new TextDecoder("latin1").decode(all).split("endstream").length;
    expect(streams(bytes)).toBe(streams(whole.bytes) - 1);
    // The link stays, and leads nowhere.
    await expect(targetOf(document, 1)).rejects.toThrow("/Page");
  });

  it.each([
    ["7", "pages: There is no page 7: the PDF has 2"],
    ["0", "pages: There is no page 0: the PDF has 2"],
    ["2-1", 'pages: "2-1" ends before it begins'],
    ["1,1-2", "pages: Page 1 is there twice"],
    ["1;2", 'pages: "1;2" is not a range of pages: write "1-3, 7, 9-"'],
    ["-", 'pages: "-" is not a range of pages: write "1-3, 7, 9-"'],
    ["1-2-3", 'pages: "1-2-3" is not a range of pages: write "1-3, 7, 9-"'],
    ["", 'pages: "" is not a range of pages: write "1-3, 7, 9-"'],
  ])('that are not there are refused: "%s"', async (pages, message) => {
    const { failure } = await opened();
    expect(await failure({ "a.pdf": pdf("1", "2") }, { pages })).toEqual([400, message]);
  });
});

describe("metadata and attachments", () => {
  it("are those of the request", async () => {
    const { edit } = await opened();
    const xml = utf8("<invoice/>");
    const answer = await edit(
      { "a.pdf": pdf("1"), "factur-x.xml": xml },
      {
        metadata: {
          title: "Rechnung № 7",
          author: "Ada",
          keywords: ["bridge", "stone"],
          creationDate: "2026-01-31T12:00:00Z",
        },
        attachments: [
          {
            file: "factur-x.xml",
            type: "text/xml",
            relationship: "Alternative",
            description: "Data",
          },
        ],
      },
    );
    const { bytes, document } = await readerOf(answer);
    const { info } = await document.getMetadata();
    expect(info).toMatchObject({
      Title: "Rechnung № 7",
      Author: "Ada",
      Keywords: "bridge, stone",
      CreationDate: "D:20260131120000Z",
    });
    expect(await attachmentsOf(document)).toMatchObject([
      { filename: "factur-x.xml", content: xml, description: "Data" },
    ]);
    expect(await textsOf(document)).toEqual(["1"]);
    // A second time it is replaced, in a list as in a tree.
    const again = await edit(
      { "a.pdf": bytes, "factur-x.xml": utf8("<credit/>") },
      { attachments: [{ file: "factur-x.xml" }] },
    );
    expect(await attachmentsOf((await readerOf(again)).document)).toMatchObject([
      { content: utf8("<credit/>") },
    ]);
  });

  it("come to those of a tree", async () => {
    const { edit } = await opened();
    const spec = (name: string): string =>
      `(${name}) << /Type /Filespec /F (${name}) /EF << /F 10 0 R >> >>`;
    const parts = {
      pages: [{ content: "" }],
      objects: ["<< /Type /EmbeddedFile /Length 3 >>\nstream\nold\nendstream"],
      catalog: `/Names << /EmbeddedFiles << /Kids [<< /Names [${spec("a.txt")} ${spec("b.txt")}] >>] >> >>`,
    };
    const files = { "x.pdf": pdfOfParts(parts), "b.txt": utf8("new"), "c.txt": utf8("c") };
    const attachments = [{ file: "b.txt" }, { file: "c.txt" }];
    const { document } = await readerOf(await edit(files, { attachments }));
    const found = await attachmentsOf(document);
    expect(found).toMatchObject([
      { filename: "a.txt", content: utf8("old") },
      { filename: "b.txt", content: utf8("new") },
      { filename: "c.txt", content: utf8("c") },
    ]);
  });

  it("keep what is not named", async () => {
    const { edit } = await opened();
    const first = await edit({ "a.pdf": pdf("1", "2") }, { metadata: { title: "T", author: "A" } });
    const { bytes } = await readerOf(first);
    const { document } = await readerOf(
      await edit({ "a.pdf": bytes }, { metadata: { title: "U" }, pages: "2" }),
    );
    expect((await document.getMetadata()).info).toMatchObject({ Title: "U", Author: "A" });
  });
});

describe("stamps", () => {
  it("are texts and pages of PDFs on the pages that they name", async () => {
    const { edit } = await opened();
    const answer = await edit(
      { "a.pdf": pdf("one", "two", "three"), "letterhead.pdf": pdf("cover", "ACME Ltd") },
      {
        stamps: [
          { text: "DRAFT", pages: "2-", rotate: 45, opacity: 0.3, color: "#cc0000" },
          { file: "letterhead.pdf", filePage: 2, pages: "1", under: true },
        ],
      },
    );
    expect(await textsIn(answer)).toEqual(["ACME Ltdone", "twoDRAFT", "threeDRAFT"]);
  });

  it("stand upright at their place, whichever way a page is turned", async () => {
    const { edit } = await opened();
    for (const turn of [0, 90, 180, 270]) {
      const page = pdfOfParts({
        pages: [{ content: "", entries: `/Rotate ${turn} /CropBox [100 50 500 750]` }],
      });
      const stamps = [{ text: "X", position: "top-left", margin: 10, fontSize: 20 }];
      const { document } = await readerOf(await edit({ "a.pdf": page }, { stamps }));
      const shownPage = await document.getPage(1);
      const { items } = await shownPage.getTextContent();
      const { transform } = items.find((item) => "str" in item && item.str === "X") as {
        transform: number[];
      };
      const view = shownPage.getViewport({ scale: 1 });
      const [a = 0, b = 0, , , x = 0, y = 0] = transform;
      const [left = 0, top = 0] = view.convertToViewportPoint(x, y);
      expect([turn, Math.round(left)]).toEqual([turn, 10]);
      // Below the upper edge by the margin and the height of a letter.
      expect(Math.round(top)).toBeGreaterThan(20);
      expect(Math.round(top)).toBeLessThan(30);
      const [x2 = 0, y2 = 0] = view.convertToViewportPoint(x + a, y + b);
      expect([Math.sign(Math.round(x2 - left)), Math.round(y2 - top)]).toEqual([1, 0]);
    }
  });

  it("are pictures", async () => {
    const { edit } = await opened();
    const png = Uint8Array.from(
      atob(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      ),
      (sign) => sign.charCodeAt(0),
    );
    const answer = await edit(
      { "a.pdf": pdf("1"), "logo.png": png },
      { stamps: [{ file: "logo.png" }] },
    );
    const { document } = await readerOf(answer);
    const { fnArray } = await (await document.getPage(1)).getOperatorList();
    // OPS.paintImageXObject
    expect(fnArray).toContain(85);
  });

  it("that cannot be drawn are refused with their field", async () => {
    const { failure } = await opened();
    const files = { "a.pdf": pdf("1"), "x.txt": utf8("x") };
    const refused = (stamp: object) => failure(files, { stamps: [stamp], merge: ["a.pdf"] });
    const bomb = new Uint8Array(64);
    bomb.set([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]);
    bomb.fill(0x7f, 16, 24);
    expect(await refused({ text: "草稿" })).toEqual([
      400,
      'stamps[0].text: The standard fonts lack "草": make the stamp a PDF with /pdf, and name it as file',
    ]);
    expect(await refused({ file: "x.txt" })).toEqual([
      400,
      'stamps[0].file: "x.txt" is not a PDF, PNG or JPEG that can be read',
    ]);
    expect(
      await failure({ ...files, "b.png": bomb }, { stamps: [{ file: "b.png" }], merge: ["a.pdf"] }),
    ).toEqual([400, 'stamps[0].file: "b.png" has more than 40000000 pixels']);
    expect(await refused({ file: "a.pdf", filePage: 2 })).toEqual([
      400,
      'stamps[0].filePage: "a.pdf" has 1 pages',
    ]);
    expect((await refused({ file: "a.pdf", text: "x" }))[1]).toContain(
      "expected either text or file",
    );
  });
});

describe("splitting a PDF", () => {
  it("answers with an archive of parts", async () => {
    const { edit } = await opened();
    const files = { "a.pdf": pdf("1", "2", "3") };
    const read = async (split: object): Promise<Record<string, string[]>> => {
      const answer = await edit(files, { split, metadata: { title: "T" } });
      expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/zip"]);
      const parts = unzipSync(new Uint8Array(await answer.arrayBuffer()));
      const texts = await Promise.all(
        Object.entries(parts).map(async ([name, bytes]) => {
          const document = await getDocumentProxy(bytes.slice(), { verbosity: 0 });
          expect((await document.getMetadata()).info).toMatchObject({ Title: "T" });
          return [name, await textsOf(document)] as const;
        }),
      );
      return Object.fromEntries(texts);
    };
    expect(await read({ every: 2 })).toEqual({ "part-1.pdf": ["1", "2"], "part-2.pdf": ["3"] });
    expect(await read({ ranges: ["3", "1-2"] })).toEqual({
      "part-1.pdf": ["3"],
      "part-2.pdf": ["1", "2"],
    });
  });

  it("has a bound", async () => {
    const { failure } = await opened();
    const files = { "a.pdf": pdf(...Array.from({ length: 501 }, String)) };
    expect(await failure(files, { split: { every: 1 } })).toEqual([
      400,
      "split.every: That makes 501 parts, and at most 500 are allowed",
    ]);
    expect((await failure(files, { split: {} }))[1]).toContain("expected either every or ranges");
  });
});

describe("PDFs that cannot be edited", () => {
  it.each([
    ["locked", lockedPdf(), '"a.pdf" is protected by a password: give it in passwords'],
    ["broken", utf8("%PDF-1.7\nnothing"), '"a.pdf" is damaged'],
    ["text", utf8("hello"), '"a.pdf" is not a PDF'],
    ["circles", pdfOfParts({ pages: [] }), '"a.pdf" has no pages'],
  ])("are named: %s", async (_, file, message) => {
    const { failure } = await opened();
    expect(await failure({ "a.pdf": file }, {})).toEqual([400, `merge: ${message}`]);
  });

  it("are those without the option, without files, and with names that no file has", async () => {
    const without = await open({});
    const [status, message] = await without.failure({ "a.pdf": pdf("1") }, {});
    expect([status, message]).toEqual([
      503,
      "This server does not edit PDFs: give rendering() the option editPdf",
    ]);
    const { failure } = await opened();
    expect(await failure({}, {})).toEqual([400, "files: At least one PDF is needed"]);
    expect(await failure({ "a.pdf": pdf("1") }, { merge: ["b.pdf"] })).toEqual([
      400,
      'merge: There is no file "b.pdf": the files are a.pdf',
    ]);
    expect(await failure({ "a.pdf": pdf("1") }, { attachments: [{ file: "x.xml" }] })).toEqual([
      400,
      'attachments[0].file: There is no file "x.xml": the files are a.pdf',
    ]);
  });

  it("opens with its password, and the result has none", async () => {
    const { PDFDocument } = await import("@cantoo/pdf-lib");
    const document = await PDFDocument.load(pdf("secret"));
    document.encrypt({ userPassword: "open", ownerPassword: "own" });
    const locked = new Uint8Array(await document.save());
    const { edit, failure } = await opened();
    const files = { "a.pdf": locked };
    expect(await textsIn(await edit(files, { passwords: { "a.pdf": "open" } }))).toEqual([
      "secret",
    ]);
    expect(await failure(files, { passwords: { "a.pdf": "wrong" } })).toEqual([
      400,
      'merge: "a.pdf" has another password',
    ]);
    expect(await failure(files, {})).toEqual([
      400,
      'merge: "a.pdf" is protected by a password: give it in passwords',
    ]);
  });
});

describe("hostile PDFs", () => {
  it("are a 400 where the library cannot go on", async () => {
    const { failure } = await opened();
    const page = pdfOfParts({ pages: [{ content: "", entries: "/CropBox [1 2]" }] });
    const [status, message] = await failure({ "a.pdf": page }, { stamps: [{ text: "x" }] });
    expect([status, message.slice(0, 24)]).toEqual([400, "files: A PDF is damaged:"]);
  });

  it("are refused before they are unpacked", async () => {
    const { failure } = await opened();
    const packed = zlibSync(new Uint8Array(130 * 1024 * 1024), { level: 1 });
    const stream = (entries: string): Uint8Array<ArrayBuffer> => {
      const head = `%PDF-1.7\n9 0 obj\n<< ${entries} /Filter /FlateDecode /Length ${packed.length} >>\nstream\n`;
      const rest = new TextDecoder("latin1").decode(pdf("1")).slice("%PDF-1.7\n".length);
      return new Uint8Array([...utf8(head), ...packed, ...utf8(`\nendstream\nendobj\n${rest}`)]);
    };
    expect(await failure({ "a.pdf": stream("/Type /ObjStm /N 1 /First 4") }, {})).toEqual([
      400,
      'merge: "a.pdf" cannot be edited: it unpacks to more than 128 MB',
    ]);
    // What is only copied is not unpacked.
    const { edit } = await opened();
    const picture = stream("/Type /XObject /Subtype /Image /Width 9000 /Height 16000");
    expect(await textsIn(await edit({ "a.pdf": picture }))).toEqual(["1"]);
    // The content of a page that is drawn is unpacked, whatever it says that it is.
    const files = { "a.pdf": pdf("1"), "b.pdf": picture };
    expect(await failure(files, { stamps: [{ file: "b.pdf" }] })).toEqual([
      400,
      'stamps[0].file: "b.pdf" cannot be edited: it unpacks to more than 128 MB',
    ]);
  });
});

describe("the field edit of /pdf", () => {
  it("changes a PDF that the url is", async () => {
    const { send } = await opened();
    const ask = (edit: object): Promise<Response> =>
      send("pdf?cacheTTL=0", {
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ url: remote, render: false, edit }),
      });
    expect(await textsIn(await ask({ pages: "3,1" }))).toEqual(["remote 3", "remote 1"]);
    const wrong = await ask({ pages: "9" });
    const { errors } = (await wrong.json()) as { errors: { message: string }[] };
    expect([wrong.status, errors[0]?.message]).toEqual([
      400,
      "edit.pages: There is no page 9: the PDF has 3",
    ]);
  });
});
