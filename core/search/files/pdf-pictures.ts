import { zlibSync } from "fflate";
import { getDocumentProxy, getResolvedPDFJS } from "unpdf";
import { crc32 } from "../../crypto/crc32.ts";
import { utf8 } from "../../crypto/encoding.ts";
import { streamExcess } from "../../files/pdf-streams.ts";
import type { PagePictures, PictureInput } from "../read/page-pictures.ts";
import { refused } from "../read/refused.ts";

/** Pixels of a picture: a page of A4 with 600 to the inch has 35 million. */
const MAX_PIXELS = 40_000_000;
/** Pixels on a side of the smallest picture that may hold words. */
const MIN_SIDE = 32;
/** Pictures of one page: some scanners cut it into strips. */
const MAX_PICTURES = 16;

/** Returns the pictures of a page in the order in which they are painted, as PNG. */
export async function* pdfPictures({
  bytes,
  page: number,
}: PictureInput): AsyncGenerator<void, PagePictures, void> {
  const excess = yield* streamExcess(bytes);
  if (excess !== null) throw refused(excess);
  const document = await getDocumentProxy(bytes, { verbosity: 0, maxImageSize: MAX_PIXELS });
  try {
    const page = await document.getPage(number);
    const { OPS } = await getResolvedPDFJS();
    const { fnArray: painted, argsArray: values } = await page.getOperatorList();
    const names = new Set<string>();
    for (const [n, operation] of painted.entries()) {
      const name: unknown = (values[n] as readonly unknown[] | null)?.[0];
      if (operation === OPS.paintImageXObject && typeof name === "string") names.add(name);
    }
    const pictures: Uint8Array<ArrayBuffer>[] = [];
    let left = 0;
    for (const name of names) {
      yield;
      const objects = name.startsWith("g_") ? page.commonObjs : page.objs;
      const picture = await new Promise<unknown>((resolve) => objects.get(name, resolve));
      const png = isPicture(picture) && pictures.length < MAX_PICTURES ? pngOf(picture) : null;
      if (png === null) left++;
      else if (png.length > 0) pictures.push(png);
    }
    return { pictures, left };
  } finally {
    await document.loadingTask.destroy().catch(() => undefined);
  }
}

/** A decoded picture of the parser. */
interface DecodedPicture {
  readonly width: number;
  readonly height: number;
  /** 1 = a bit of grey for a pixel, 2 = red, green, blue, 3 = and how opaque it is. */
  readonly kind: number;
  readonly data: Uint8Array | Uint8ClampedArray;
}

function isPicture(value: unknown): value is DecodedPicture {
  const { width, height, kind, data } = (value ?? {}) as Partial<DecodedPicture>;
  return Boolean(width) && Boolean(height) && Boolean(kind) && data !== undefined;
}

/** Bits of a sample, samples of a pixel and the color type of PNG, by the kind of a picture. */
const FORMATS: ReadonlyMap<number, readonly [bits: number, samples: number, color: number]> =
  new Map([
    [1, [1, 1, 0]],
    [2, [8, 3, 2]],
    [3, [8, 4, 6]],
  ]);

/** Encodes a picture as PNG (www.w3.org/TR/png-3); empty for one that is too small for words, null for an unknown kind. */
function pngOf({ width, height, kind, data }: DecodedPicture): Uint8Array<ArrayBuffer> | null {
  if (width < MIN_SIDE || height < MIN_SIDE) return new Uint8Array(0);
  const [bits, samples, color] = FORMATS.get(kind) ?? [0, 0, 0];
  const row = Math.ceil((width * bits * samples) / 8);
  if (row === 0 || data.length < row * height) return null;
  // Each row begins with its filter: none.
  const rows = new Uint8Array((row + 1) * height);
  for (let y = 0; y < height; y++)
    rows.set(data.subarray(y * row, (y + 1) * row), y * (row + 1) + 1);
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  header.set([bits, color], 8);
  const parts = [
    Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
    pngChunk("IHDR", header),
    pngChunk("IDAT", zlibSync(rows, { level: 1 })),
    pngChunk("IEND", new Uint8Array(0)),
  ];
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

function pngChunk(type: string, data: Uint8Array): Uint8Array {
  const chunk = new Uint8Array(data.length + 12);
  const view = new DataView(chunk.buffer);
  view.setUint32(0, data.length);
  chunk.set(utf8(type), 4);
  chunk.set(data, 8);
  view.setUint32(data.length + 8, crc32(chunk.subarray(4, data.length + 8)));
  return chunk;
}
