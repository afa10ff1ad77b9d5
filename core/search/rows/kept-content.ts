import { utf8 } from "../../crypto/encoding.ts";
import { joinBytes } from "../../http/stream.ts";
import type { ActorContext, SqlRow, Statement } from "../../ports.ts";
import type { TextChunk } from "../text/split.ts";
import { insertParts, joinParts } from "../../sql/blob-parts.ts";

// The bytes of an item lie in the database as they came until the item is indexed. Then, where its chunks hold every byte
// but the blanks between them, only those blanks stay. Bytes of any other file stay compressed where that saves room.

/** How bytes are stored: what lies between the chunks, compressed, or (null) as they are. */
type Form = "gaps" | "deflate" | null;

/** Bytes that are compressed at a time: less than a millisecond. */
const SLICE = 32_768;
/** Bytes that are compared with chunks at a time: about a millisecond. */
const COMPARED = 524_288;
/** The largest ratio of compressed to plain size worth keeping: pictures and most documents are compressed already. */
const WORTH = 0.9;

const INSERT =
  "INSERT INTO search_content (actor, item_id, revision, form, part, data) VALUES (?, ?, ?, ?, ?, ?)";

/** Returns statements that store bytes as they came. */
export function addContent(
  actor: string,
  itemId: string,
  revision: number,
  bytes: Uint8Array,
): Statement[] {
  return insertParts(INSERT, [actor, itemId, revision, null], bytes);
}

/**
 * Returns statements that store the bytes of an item in the form that goes with its new chunks. Commit them with the
 * chunks.
 */
export async function packContent(
  context: ActorContext,
  itemId: string,
  revision: number,
  chunks: readonly TextChunk[],
): Promise<Statement[]> {
  const actor = context.name;
  const bytes = await storedBytes(context, itemId, revision, chunks.at(-1)?.endByte ?? 0);
  const [form, data] = await packed(context, bytes, chunks);
  return [
    {
      sql: "DELETE FROM search_content WHERE actor = ? AND item_id = ? AND revision <= ?",
      params: [actor, itemId, revision],
    },
    ...insertParts(INSERT, [actor, itemId, revision, form], data),
  ];
}

async function packed(
  { system }: ActorContext,
  bytes: Uint8Array<ArrayBuffer>,
  chunks: readonly TextChunk[],
): Promise<readonly [Form, Uint8Array]> {
  const pause = (): Promise<void> => system.sleep(0);
  const gaps = await gapsBetween(bytes, chunks, pause);
  if (gaps !== null && gaps.length < bytes.length) return ["gaps", gaps];
  const deflated = await piped(bytes, new CompressionStream("deflate"), pause);
  return deflated.length < bytes.length * WORTH ? ["deflate", deflated] : [null, bytes];
}

/** Returns the stored bytes of an item; `size` is about how many. */
export async function storedBytes(
  context: ActorContext,
  itemId: string,
  revision: number,
  size: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const key = [context.name, itemId, revision];
  // One statement: a commit in between would change the chunks that the bytes are made of.
  const rows = await context.sql.all(
    `SELECT part AS place, form, data, NULL AS start_byte, NULL AS text FROM search_content
        WHERE actor = ? AND item_id = ? AND revision = ?
      UNION ALL SELECT c.ord, NULL, NULL, c.start_byte, c.text FROM search_chunks c
        WHERE c.actor = ? AND c.item_id = ? AND 'gaps' = (SELECT MAX(s.form) FROM search_content s
          WHERE s.actor = ? AND s.item_id = ? AND s.revision = ?)
      ORDER BY place`,
    [...key, context.name, itemId, ...key],
    size > COMPARED ? { long: context.name } : {},
  );
  const data = joinParts(
    rows.map((row) => row["data"]).filter((part) => part instanceof Uint8Array),
  );
  const form = rows.find((row) => row["data"] !== null)?.["form"] ?? null;
  const pause = (): Promise<void> => context.system.sleep(0);
  if (form === "gaps") return joined(data, rows, pause);
  const own = new Uint8Array(data);
  return form === "deflate" ? piped(own, new DecompressionStream("deflate"), pause) : own;
}

/** Returns the bytes before, between and behind the chunks, as JSON; null where the chunks are not slices of the bytes. */
async function gapsBetween(
  bytes: Uint8Array,
  chunks: readonly TextChunk[],
  pause: () => Promise<void>,
): Promise<Uint8Array | null> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const gaps: string[] = [];
  let end = 0;
  let paused = 0;
  try {
    for (const { text, startByte, endByte } of chunks) {
      // Decoded, as runtimes do that faster than anything compares bytes.
      const isSlice = endByte >= end && decoder.decode(bytes.subarray(startByte, endByte)) === text;
      if (!isSlice) return null;
      gaps.push(decoder.decode(bytes.subarray(end, Math.max(end, startByte))));
      end = endByte;
      if (end - paused < COMPARED) continue;
      paused = end;
      await pause();
    }
    gaps.push(decoder.decode(bytes.subarray(end)));
  } catch {
    return null;
  }
  return utf8(JSON.stringify(gaps));
}

/** Returns the bytes that {@link gapsBetween} was given. */
async function joined(
  gaps: Uint8Array,
  rows: readonly SqlRow[],
  pause: () => Promise<void>,
): Promise<Uint8Array<ArrayBuffer>> {
  const [first = "", ...others] = JSON.parse(new TextDecoder().decode(gaps)) as string[];
  const out = [utf8(first)];
  let end = out[0]?.length ?? 0;
  let paused = 0;
  const chunks = rows.filter((row) => row["data"] === null);
  for (const [n, row] of chunks.entries()) {
    const start = Number(row["start_byte"]);
    const text = utf8(String(row["text"]));
    const gap = utf8(others[n] ?? "");
    // Chunks overlap.
    out.push(text.subarray(Math.max(0, end - start)), gap);
    end = start + text.length + gap.length;
    if (end - paused < COMPARED) continue;
    paused = end;
    await pause();
  }
  return joinBytes(out);
}

/** Bytes behind a compressing or decompressing stream; `pause` lets others go on. */
async function piped(
  bytes: Uint8Array<ArrayBuffer>,
  { readable, writable }: CompressionStream | DecompressionStream,
  pause: () => Promise<void>,
): Promise<Uint8Array<ArrayBuffer>> {
  const writer = writable.getWriter();
  const feed = async (): Promise<void> => {
    for (let at = 0; at < bytes.length; at += SLICE) {
      if (at > 0) await pause();
      await writer.write(bytes.subarray(at, at + SLICE));
    }
    await writer.close();
  };
  const [out] = await Promise.all([new Response(readable).arrayBuffer(), feed()]);
  return new Uint8Array(out);
}
