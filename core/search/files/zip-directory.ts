import { inflateSync } from "fflate";
import { refused } from "../read/refused.ts";

/** One file of a ZIP archive, from its central directory (APPNOTE.TXT 6.3.10 of PKWARE, section 4.3.12). */
export interface ZipEntry {
  readonly name: string;
  /** Bytes that it says it unpacks to. */
  readonly size: number;
  /** Unpacks it. Throws for damaged data, for more or less of it than `size`, and for a method other than "stored" and "deflated". */
  unpack(): Uint8Array;
}

const END = 0x06054b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const CENTRAL = 0x02014b50;
const LOCAL = 0x04034b50;
/** Bytes of a comment behind the end record, and of that record. */
const MAX_TAIL = 65_535 + 22;
/** A field of 32 bits whose value stands in the extra field of ZIP64. */
const IN_64 = 0xffffffff;
const DAMAGED = "the file is damaged: its directory cannot be read";

/** Lists the files of an archive. Throws 7060 when it is damaged or has more than `most` files. */
export function zipEntries(bytes: Uint8Array, most: number): ZipEntry[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    let at = directoryOf(view);
    const entries: ZipEntry[] = [];
    for (; at + 46 <= bytes.length && view.getUint32(at, true) === CENTRAL; at = nextOf(view, at)) {
      if (entries.length === most) throw refused(`the file holds more than ${most} files`);
      entries.push(entryAt(bytes, view, at));
    }
    return entries;
  } catch (error) {
    if (error instanceof RangeError) throw refused(DAMAGED);
    throw error;
  }
}

/** Returns where the central directory begins. */
function directoryOf(view: DataView): number {
  const least = Math.max(0, view.byteLength - MAX_TAIL);
  for (let at = view.byteLength - 22; at >= least; at--) {
    if (view.getUint32(at, true) !== END) continue;
    const start = view.getUint32(at + 16, true);
    if (start !== IN_64) return start;
    if (view.getUint32(at - 20, true) !== LOCATOR_64) throw refused(DAMAGED);
    const end = Number(view.getBigUint64(at - 12, true));
    if (view.getUint32(end, true) !== END_64) throw refused(DAMAGED);
    return Number(view.getBigUint64(end + 48, true));
  }
  throw refused(DAMAGED);
}

function nextOf(view: DataView, at: number): number {
  const lengths = [28, 30, 32].map((field) => view.getUint16(at + field, true));
  return lengths.reduce((sum, length) => sum + length, at + 46);
}

function entryAt(bytes: Uint8Array, view: DataView, at: number): ZipEntry {
  const nameLength = view.getUint16(at + 28, true);
  const flags = view.getUint16(at + 8, true);
  const method = view.getUint16(at + 10, true);
  const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength));
  const [size, packed, start] = sizesOf(view, at, nameLength);
  return {
    // Archives of older .NET programs have backslashes.
    name: name.replaceAll("\\", "/"),
    size,
    unpack() {
      if ((flags & 1) !== 0) throw refused(`"${name}" is protected by a password`);
      if (view.getUint32(start, true) !== LOCAL) throw refused(DAMAGED);
      const data = start + 30 + view.getUint16(start + 26, true) + view.getUint16(start + 28, true);
      const content = bytes.subarray(data, data + packed);
      if (content.length < packed) throw refused(DAMAGED);
      if (method === 0) return content;
      if (method === 8) return inflated(content, size);
      throw refused(`"${name}" is packed by a method that is not read`);
    },
  };
}

/** Unpacks data to the size that it has to have, and no further. */
function inflated(content: Uint8Array, size: number): Uint8Array {
  const out = inflateSync(content, { out: new Uint8Array(size + 1) });
  if (out.length === size) return out;
  throw refused("the file is damaged: a part of it has another size than its directory says");
}

/** Returns the sizes, unpacked and packed, and where the file begins; ZIP64 keeps the large ones apart. */
function sizesOf(view: DataView, at: number, nameLength: number): [number, number, number] {
  const fields: [number, number, number] = [
    view.getUint32(at + 24, true),
    view.getUint32(at + 20, true),
    view.getUint32(at + 42, true),
  ];
  const end = at + 46 + nameLength + view.getUint16(at + 30, true);
  for (let extra = at + 46 + nameLength; extra + 4 <= end;) {
    const length = view.getUint16(extra + 2, true);
    if (view.getUint16(extra, true) === 1) {
      let value = extra + 4;
      for (const [n, field] of fields.entries()) {
        if (field !== IN_64) continue;
        fields[n] = Number(view.getBigUint64(value, true));
        value += 8;
      }
    }
    extra += 4 + length;
  }
  return fields;
}
