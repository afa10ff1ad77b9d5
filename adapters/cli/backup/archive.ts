import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";

// A gzipped tar (POSIX ustar, https://www.gnu.org/software/tar/manual/html_node/Standard.html): `tar -xzf` reads it too.

const BLOCK = 512;
/** From here on a size does not fit into eleven octal digits; GNU's binary form is used. */
const OCTAL_LIMIT = 8 ** 11;

/** A file on its way into an archive. */
export interface ArchivedFile {
  readonly name: string;
  readonly path: string;
}

/** A file that came out of an archive. */
export interface UnpackedFile {
  readonly bytes: number;
  readonly sha256: string;
}

/** Hears of bytes as they pass. */
export type OnBytes = (bytes: number) => void;

/**
 * Writes an archive that only its owner may read; the file must not be there yet. `onBytes` hears of the bytes of the files.
 */
export async function writeArchive(
  path: string,
  files: readonly ArchivedFile[],
  onBytes: OnBytes = () => undefined,
): Promise<void> {
  // The least compression: of a database the rest wins a tenth of the size and takes three times as long.
  const packed = createGzip({ level: 1 });
  const out = createWriteStream(path, { mode: 0o600, flags: "wx", flush: true });
  await pipeline(Readable.from(tar(files, onBytes)), packed, out);
}

async function* tar(files: readonly ArchivedFile[], onBytes: OnBytes): AsyncGenerator<Uint8Array> {
  for (const { name, path } of files) {
    const { size } = statSync(path);
    yield header(name, size);
    let written = 0;
    for await (const chunk of createReadStream(path)) {
      const bytes: Uint8Array = chunk;
      written += bytes.length;
      onBytes(bytes.length);
      yield bytes;
    }
    if (written !== size) throw new Error(`"${path}" changed while it was read`);
    yield new Uint8Array(padding(size));
  }
  yield new Uint8Array(2 * BLOCK);
}

function padding(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}

function header(name: string, size: number): Uint8Array {
  const block = new Uint8Array(BLOCK);
  const put = (at: number, text: string): void =>
    void new TextEncoder().encodeInto(text, block.subarray(at));
  put(0, name);
  put(100, "0000600\0");
  put(108, "0000000\0");
  put(116, "0000000\0");
  if (size < OCTAL_LIMIT) put(124, `${octal(size, 11)}\0`);
  else {
    const view = new DataView(block.buffer);
    view.setUint8(124, 0x80);
    view.setBigUint64(128, BigInt(size));
  }
  put(136, `${octal(Math.floor(Date.now() / 1000), 11)}\0`);
  put(148, "        ");
  put(156, "0");
  put(257, "ustar\0");
  put(263, "00");
  put(148, `${octal(sumOf(block), 6)}\0 `);
  return block;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}

function sumOf(block: Uint8Array): number {
  return block.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 32 : byte), 0);
}

/**
 * Unpacks an archive into a folder. Only files of the given names pass, each once: what an archive says decides nothing
 * about where something is written. Throws for anything else, and for an archive that ends early. `onBytes` hears of the
 * archive's own bytes.
 */
export async function readArchive(
  path: string,
  folder: string,
  names: readonly string[],
  onBytes: OnBytes = () => undefined,
): Promise<Map<string, UnpackedFile>> {
  const found = new Map<string, UnpackedFile>();
  const packed = createReadStream(path);
  const plain = createGunzip();
  const reader = blockReader(plain);
  packed.on("data", (chunk: { readonly length: number }) => {
    onBytes(chunk.length);
  });
  const fed = pipeline(packed, plain).then(
    () => null,
    (error: unknown) => {
      plain.destroy(toError(error));
      return toError(error);
    },
  );
  try {
    for (;;) {
      const block = await reader.take(BLOCK);
      if (block.every((byte) => byte === 0)) break;
      const { name, size } = parseHeader(block);
      if (!names.includes(name) || found.has(name))
        throw notABackup(`it holds "${name.slice(0, 80)}"`);
      found.set(name, await unpack(reader, join(folder, name), size));
      await reader.take(padding(size));
    }
    // The checksum of the unpacked data stands at the end.
    await reader.end();
    // Bun may end the stream without the error.
    const failed = await fed;
    if (failed !== null) throw notABackup(failed.message);
  } finally {
    packed.destroy();
    plain.destroy();
    await fed;
  }
  return found;
}

async function unpack(reader: BlockReader, path: string, size: number): Promise<UnpackedFile> {
  const hash = createHash("sha256");
  const file = await open(path, "wx", 0o600);
  try {
    for (let left = size; left > 0;) {
      const chunk = await reader.some(left);
      left -= chunk.length;
      hash.update(chunk);
      await file.writeFile(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { bytes: size, sha256: hash.digest("hex") };
}

function parseHeader(block: Uint8Array): { readonly name: string; readonly size: number } {
  const text = (from: number, to: number): string =>
    new TextDecoder().decode(block.subarray(from, to)).replace(/\0.*$/su, "");
  const sum = Number.parseInt(text(148, 156).trim(), 8);
  const size =
    block[124] === 0x80
      ? Number(new DataView(block.buffer, block.byteOffset).getBigUint64(128))
      : Number.parseInt(text(124, 136).trim(), 8);
  const isFile = ["0", ""].includes(text(156, 157));
  if (sum !== sumOf(block) || !Number.isSafeInteger(size) || size < 0 || !isFile)
    throw notABackup("it is damaged, or of another kind");
  return { name: text(0, 100), size };
}

interface BlockReader {
  /** Exactly so many bytes. */
  take(bytes: number): Promise<Uint8Array>;
  /** Up to so many bytes, at least one. */
  some(bytes: number): Promise<Uint8Array>;
  /** Reads on to the end, where a damaged archive is found out. */
  end(): Promise<void>;
}

function blockReader(stream: AsyncIterable<unknown>): BlockReader {
  const chunks = stream[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array();
  const next = (): Promise<IteratorResult<unknown>> =>
    chunks.next().catch((error: unknown) => {
      throw notABackup(toError(error).message);
    });
  const some = async (bytes: number): Promise<Uint8Array> => {
    while (rest.length === 0) {
      const { done, value } = await next();
      if (done === true || !(value instanceof Uint8Array)) throw notABackup("it ends too early");
      rest = value;
    }
    const part = rest.subarray(0, bytes);
    rest = rest.subarray(part.length);
    return part;
  };
  return {
    some,
    async end() {
      while ((await next()).done !== true);
    },
    async take(bytes) {
      const whole = new Uint8Array(bytes);
      for (let at = 0; at < bytes;) {
        const part = await some(bytes - at);
        whole.set(part, at);
        at += part.length;
      }
      return whole;
    },
  };
}

function notABackup(why: string): Error {
  return new Error(`This is not a backup of causey: ${why}`);
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
