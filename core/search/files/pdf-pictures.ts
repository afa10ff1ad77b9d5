import { zlibSync } from "fflate";
import { getDocumentProxy, getResolvedPDFJS } from "unpdf";
import { crc32 } from "../../crypto/crc32.ts";
import { utf8 } from "../../crypto/encoding.ts";
import { joinBytes } from "../../http/stream.ts";
import { streamExcess } from "../../files/pdf-streams.ts";
import type { PagePictures, PictureInput } from "../read/page-pictures.ts";
import { refused } from "../read/refused.ts";

/** Pixels of a picture: a page of A4 with 600 to the inch has 35 million. */
const MAX_PIXELS = 40_000_000;
/** Pixels on a side of the smallest picture that may hold words. */
const MIN_SIDE = 32;
/** Pixels on the longer side of what is read: models that see scale larger ones down themselves, and are sent each byte. */
const MAX_SIDE = 2000;
/** Pixels that are looked at between two yields. */
const STEP = 500_000;
/** Pictures of one page: some scanners cut it into strips. */
const MAX_PICTURES = 16;

/** Returns the pictures of a page in the order in which they are painted, as PNG in grey. */
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
      if (!isPicture(picture) || pictures.length >= MAX_PICTURES) left++;
      else if (Math.min(picture.width, picture.height) >= MIN_SIDE) {
        const grey = yield* greyOf(picture);
        if (grey === null) left++;
        else pictures.push(pngOf(grey));
      }
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

/** A picture of one byte a pixel. */
interface GreyPicture {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/** Returns how light a pixel is, from 0 to 255, by the kind of its picture; null for an unknown kind. */
function lightIn({ width, kind, data }: DecodedPicture): ((x: number, y: number) => number) | null {
  const at = (place: number): number => data[place] ?? 255;
  // ITU-R BT.601 says how much each color counts.
  const lightOf = (place: number): number =>
    0.299 * at(place) + 0.587 * at(place + 1) + 0.114 * at(place + 2);
  const row = Math.ceil(width / 8);
  if (kind === 1) return (x, y) => ((at(y * row + (x >> 3)) >> (7 - (x & 7))) & 1) * 255;
  if (kind === 2) return (x, y) => lightOf((y * width + x) * 3);
  if (kind !== 3) return null;
  // Paper shows through.
  return (x, y) => {
    const place = (y * width + x) * 4;
    const share = at(place + 3) / 255;
    return lightOf(place) * share + 255 * (1 - share);
  };
}

/** Makes a picture grey, and smaller where it is too large: each pixel is the mean of those that it stands for. */
function* greyOf(picture: DecodedPicture): Generator<void, GreyPicture | null, void> {
  const { width, height } = picture;
  const light = lightIn(picture);
  if (light === null) return null;
  const factor = Math.ceil(Math.max(width, height) / MAX_SIDE);
  const [columns, rows] = [Math.ceil(width / factor), Math.ceil(height / factor)];
  const data = new Uint8Array(columns * rows);
  const sums = new Float64Array(columns);
  let looked = 0;
  for (let top = 0; top < height; top += factor) {
    const bottom = Math.min(height, top + factor);
    sums.fill(0);
    for (let y = top; y < bottom; y++)
      for (let x = 0; x < width; x++) add(sums, Math.floor(x / factor), light(x, y));
    for (let n = 0; n < columns; n++) {
      const many = Math.min(factor, width - n * factor) * (bottom - top);
      data[(top / factor) * columns + n] = Math.round((sums[n] ?? 0) / many);
    }
    looked += width * (bottom - top);
    if (looked < STEP) continue;
    looked = 0;
    yield;
  }
  return { width: columns, height: rows, data };
}

function add(sums: Float64Array, at: number, value: number): void {
  sums[at] = (sums[at] ?? 0) + value;
}

/** Encodes a picture as PNG (www.w3.org/TR/png-3). */
function pngOf({ width, height, data }: GreyPicture): Uint8Array<ArrayBuffer> {
  // Each row begins with its filter: none.
  const rows = new Uint8Array((width + 1) * height);
  for (let y = 0; y < height; y++)
    rows.set(data.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  // Eight bits a sample, and grey alone.
  header[8] = 8;
  const parts = [
    Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
    pngChunk("IHDR", header),
    pngChunk("IDAT", zlibSync(rows, { level: 1 })),
    pngChunk("IEND", new Uint8Array(0)),
  ];
  return joinBytes(parts);
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
