import { PDFDocument } from "@cantoo/pdf-lib";
import { unzlibSync } from "fflate";
import { afterEach, describe, expect, it } from "vitest";
import { eventually } from "../../cases/eventually.ts";
import { runToEnd } from "../../../core/work/background.ts";
import type { System } from "../../../core/ports.ts";
import { modelOcr, type NamedChatModel } from "../../../core/search/mod.ts";
import { fileReader } from "../../../core/search/files/mod.ts";
import type { Ocr, OcrPicture } from "../../../core/search/mod.ts";
import { readHere } from "../../fakes/read-here.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";

let api: SearchUnderTest;
afterEach(() => api?.close());

const settings = { indexing_options: { use_ocr: true } };
const [WIDTH, HEIGHT] = [64, 40];

/** A document whose pages have a line of text, or pictures: their first bytes, whose bits of a sample are these. */
async function scanned(
  pages: readonly (string | readonly (readonly [first: number, bits: 1 | 8, side?: number])[])[],
): Promise<Uint8Array> {
  const document = await PDFDocument.create();
  for (const content of pages) {
    const page = document.addPage([200, 200]);
    if (typeof content === "string") {
      page.drawText(content, { x: 10, y: 100, size: 10 });
      continue;
    }
    for (const [first, bits, side = WIDTH] of content) {
      const row = bits === 1 ? Math.ceil(side / 8) : side * 3;
      const samples = new Uint8Array(row * HEIGHT).fill(first);
      const stream = document.context.stream(samples, {
        Type: "XObject",
        Subtype: "Image",
        Width: side,
        Height: HEIGHT,
        BitsPerComponent: bits,
        ColorSpace: bits === 1 ? "DeviceGray" : "DeviceRGB",
      });
      const name = page.node.newXObject("Im", document.context.register(stream));
      const paint = document.context.stream(`q 100 0 0 60 20 20 cm ${name.toString()} Do Q\n`);
      page.node.addContentStream(document.context.register(paint));
    }
  }
  return document.save({ useObjectStreams: false });
}

/** The size, the format and the first sample of a PNG file whose rows have no filter. */
function shownBy({ bytes, type }: OcrPicture): unknown {
  expect(type).toBe("image/png");
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const chunks = new Map<string, Uint8Array>();
  for (let at = 8; at < bytes.length;) {
    const length = view.getUint32(at);
    const name = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    chunks.set(name, bytes.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const header = chunks.get("IHDR") ?? new Uint8Array(0);
  const rows = unzlibSync(chunks.get("IDAT") ?? new Uint8Array(0));
  return [view.getUint32(16), view.getUint32(20), header[8], header[9], rows[0], rows[1]];
}

async function open(
  ocr: Ocr,
  options: Record<string, unknown> = {},
  given = settings,
  system: Partial<System> = {},
) {
  const parts = { readFile: fileReader, ocr, ...options };
  api = await searchUnderTest(parts, given, undefined, system, readHere);
}

/** Uploads a file, and returns its item once the queue is through with it. */
async function settled(key: string, bytes: Uint8Array, type?: string) {
  const { body } = await api.upload(key, bytes, { wait: false, ...(type && { type }) });
  let item = body.result;
  await eventually(async () => {
    item = (await api.call("GET", `/instances/main/items/${item.id}`)).body.result;
    return item.status === "completed" || item.status === "error";
  }, "the item is indexed");
  return item;
}

/** The pictures of the first page. */
async function picturesOf(pdf: Uint8Array) {
  const find = await fileReader.pictures?.load();
  const found = find && (await runToEnd(find({ bytes: new Uint8Array(pdf), page: 1 })));
  return found?.pictures ?? [];
}

describe("pages that hold pictures alone", () => {
  it("are read, and stand between the others with their numbers", async () => {
    const seen: unknown[] = [];
    await open((picture) => {
      seen.push(shownBy(picture));
      return Promise.resolve(` Fee ${seen.length}: the okapi pays nothing.\n`);
    });
    const pdf = await scanned([
      "The walrus pays ten.",
      [[255, 1]],
      "The numbat pays two.",
      [
        [7, 8],
        [9, 8, 16],
      ],
    ]);
    const item = await settled("fees.pdf", pdf);
    expect([item.status, item.warnings]).toEqual(["completed", undefined]);
    expect(seen).toEqual(
      expect.arrayContaining([
        [WIDTH, HEIGHT, 8, 0, 0, 255],
        [WIDTH, HEIGHT, 8, 0, 0, 7],
      ]),
    );
    // The small picture is an ornament.
    expect(seen).toHaveLength(2);
    const [found] = await api.search("okapi");
    expect(found).toMatchObject({ item: { key: "fees.pdf" } });
    const { body: chunks } = await api.call("GET", `/instances/main/items/${item.id}/chunks`);
    const text = JSON.stringify(chunks.result);
    expect(text).toMatch(/Page 1.*walrus.*Page 2.*okapi.*Page 3.*numbat.*Page 4.*okapi/su);
  });

  it("are named in a warning where an instance does not have its pictures read, and nobody is asked", async () => {
    await open(
      () => Promise.reject(new Error("not to be asked")),
      {},
      { indexing_options: { use_ocr: false } },
    );
    const { body } = await api.upload("a.pdf", await scanned(["A walrus.", [[0, 1]]]));
    expect(body.result.warnings).toMatchObject([{ code: "page_without_text", page: 2 }]);
  });

  it("that cannot be read are named, and the others are read", async () => {
    let asked = 0;
    await open(
      (_, signal) => {
        asked++;
        if (asked === 1) return Promise.reject(new Error("secret"));
        if (asked === 2)
          return new Promise((_resolve, reject) => signal.addEventListener("abort", reject));
        if (asked === 3) return Promise.resolve(5 as unknown as string);
        return Promise.resolve("An okapi.");
      },
      { ocrTimeoutMs: 50 },
    );
    const one = [[0, 8]] as const;
    const pdf = await scanned([one, one, one, one, "A walrus."]);
    const { warnings = [] } = await settled("a.pdf", pdf);
    const lost = (warnings as readonly { code: string; message: string }[]).filter(
      ({ code }) => code === "picture_not_read",
    );
    expect(lost.map(({ message }) => message).toSorted()).toEqual([
      "The picture was not read within 50 ms",
      "The reader of pictures returned no text",
      "its pictures could not be read",
    ]);
    expect(await api.search("okapi")).toHaveLength(1);
  });

  it("are the reason where a file has nothing else", async () => {
    await open(() => Promise.reject(new Error("secret")));
    const { status, error } = await settled("a.pdf", await scanned([[[0, 1]]]));
    expect([status, error]).toEqual(["error", "its pictures could not be read"]);
  });

  it("are left out after ten minutes, and say so", async () => {
    let ahead = 0;
    const real = performance.now.bind(performance);
    await open(
      () => {
        ahead += 160_000;
        return Promise.resolve("An okapi.");
      },
      {},
      settings,
      { monotonic: () => real() + ahead },
    );
    const { warnings = [] } = await settled(
      "a.pdf",
      await scanned(Array.from({ length: 12 }, () => [[0, 1]])),
    );
    const lost = (warnings as readonly { code: string; message: string }[]).filter(
      ({ code }) => code === "picture_not_read",
    );
    expect(lost).toHaveLength(1);
    expect(lost[0]?.message).toBe("no picture is read after 600 s, nor of the pages that follow");
    expect(await api.search("okapi")).not.toEqual([]);
  });

  it("are at most 100 of a file, at most 2000 pixels wide, and have at most 16 pictures", async () => {
    let asked = 0;
    await open(() => Promise.resolve(`Scan ${++asked}.`));
    const pages = Array.from({ length: 102 }, () => [[0, 1]] as const);
    const { warnings } = await settled("a.pdf", await scanned(pages));
    expect(asked).toBe(100);
    expect(warnings).toMatchObject([
      { code: "page_without_text", page: 101 },
      { code: "picture_not_read", page: 101 },
    ]);
    const [wide] = await picturesOf(await scanned([[[200, 8, 5000]]]));
    const shown = wide && shownBy({ bytes: wide, type: "image/png" });
    expect(shown).toEqual([1667, 14, 8, 0, 0, 200]);
    const strips = Array.from({ length: 20 }, () => [0, 1] as const);
    expect(await picturesOf(await scanned([strips]))).toHaveLength(16);
  });
});

describe("a picture", () => {
  const jpeg = Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 1, 2, 3);

  it("is read where its instance has that, and refused where not, or without text", async () => {
    await open(({ bytes, type }) =>
      Promise.resolve(bytes.length === jpeg.length && type === "image/jpeg" ? "An okapi." : " "),
    );
    const { status } = await settled("a.jpg", jpeg, "image/jpeg");
    expect(status).toBe("completed");
    expect(await api.search("okapi")).toHaveLength(1);
    const empty = await settled("b.jpg", Uint8Array.of(...jpeg, 4), "image/jpeg");
    expect([empty.status, empty.error]).toEqual([
      "error",
      'unsupported_file_type: "b.jpg" is a picture without text',
    ]);
    await api.call("PUT", "/instances/main", { indexing_options: { use_ocr: false } });
    const refused = await api.upload("c.jpg", jpeg, { type: "image/jpeg" });
    expect(refused.body.errors[0]?.message).toContain("is a picture");
  });
});

describe("modelOcr()", () => {
  it("shows a chat model the picture, and takes its words without its thoughts", async () => {
    const bodies: unknown[] = [];
    const model: NamedChatModel = Object.assign(
      async (request: Request) => {
        bodies.push(await request.json());
        const message = { role: "assistant", content: "<think>hm</think>An okapi." };
        return Response.json({ choices: [{ message, finish_reason: "stop" }] });
      },
      { model: "eyes-1" },
    );
    api = await searchUnderTest();
    const read = modelOcr(model, api.platform.system);
    const picture = { bytes: Uint8Array.of(1, 2, 3), type: "image/png" };
    expect(await read(picture, new AbortController().signal)).toBe("An okapi.");
    expect(bodies).toMatchObject([
      {
        model: "eyes-1",
        stream: false,
        messages: [
          {
            role: "user",
            content: [
              { type: "text" },
              { type: "image_url", image_url: { url: "data:image/png;base64,AQID" } },
            ],
          },
        ],
      },
    ]);
  });
});
