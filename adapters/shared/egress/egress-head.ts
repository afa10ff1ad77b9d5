import type { Inbox } from "./inbox.ts";

/** The start of an HTTP/1.1 message: its first line and its header lines. */
export interface Head {
  readonly first: string;
  readonly lines: readonly string[];
}

/** Bytes that the head of a message may have. */
const HEAD_LIMIT = 64 * 1024;

/** Reads one message head; what came after it is put back. Null when the peer ends, is late or sends too much. */
export async function readHead(inbox: Inbox, timeoutMs: number): Promise<Head | null> {
  const due = performance.now() + timeoutMs;
  let seen: Buffer = Buffer.alloc(0);
  for (;;) {
    const bytes = await inbox.next(Math.max(1, due - performance.now()));
    if (bytes === null) return null;
    // Search again from just before the seam: the blank line may be split between chunks.
    const from = Math.max(0, seen.length - 3);
    seen = seen.length === 0 ? bytes : Buffer.concat([seen, bytes]);
    const end = seen.indexOf("\r\n\r\n", from);
    if (end >= 0) {
      inbox.putBack(seen.subarray(end + 4));
      const [first = "", ...lines] = seen.toString("latin1", 0, end).split("\r\n");
      return { first, lines };
    }
    if (seen.length > HEAD_LIMIT) return null;
  }
}

/** Returns the values of a header, in their order. */
export function valuesOf({ lines }: Head, name: string): string[] {
  return lines.flatMap((line) => {
    const at = line.indexOf(":");
    return nameOf(line) === name ? [line.slice(at + 1).trim()] : [];
  });
}

/** Returns the bytes of a head with some header lines dropped, and what is to become of the connection. */
export function writeHead(
  first: string,
  lines: readonly string[],
  dropped: readonly string[],
  connection?: "close" | "keep-alive",
): Buffer {
  const kept = lines.filter((line) => !dropped.includes(nameOf(line)));
  const said = connection === undefined ? [] : [`Connection: ${connection}`];
  return Buffer.from([first, ...kept, ...said, "", ""].join("\r\n"), "latin1");
}

function nameOf(line: string): string {
  return line.slice(0, Math.max(0, line.indexOf(":"))).toLowerCase();
}
