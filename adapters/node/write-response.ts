import { mayWriteOn } from "../shared/http/may-write-on.ts";
import type { ServerResponse } from "node:http";
import { nextTick } from "node:process";
import type { Writable } from "node:stream";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { type DirectSink, upstreamBodyOf } from "../shared/http/upstream-body.ts";

/**
 * node-server keeps text and bytes of a response uninstantiated under a private symbol and writes them
 * fast; that path stays. Everything else is written here: node-server prints errors of bodies to the
 * console and may end a broken stream as if it were whole.
 */
export function cachedBodyKey(): symbol | null {
  const probe = new Response("");
  return (
    Object.getOwnPropertySymbols(probe).find((key) => Array.isArray(Reflect.get(probe, key))) ??
    null
  );
}

/** Returns a response as node-server caches it: status, body, headers; undefined for one that it did not cache. */
export function cachedParts(
  response: Response,
  key: symbol | null,
): readonly unknown[] | undefined {
  return key !== null && key in response
    ? (Reflect.get(response, key) as readonly unknown[])
    : undefined;
}

/** Whether the body of {@link cachedParts} is text or bytes. */
export function isWhole([, body]: readonly unknown[]): boolean {
  return body === null || typeof body === "string" || body instanceof Uint8Array;
}

/** Bytes up to which a body is cheaper copied into one write with its head than written beside it. */
const ONE_WRITE_BYTES = 16 * 1024;

/** Writes head and small body in one piece; false when {@link cachedParts} hold something else. */
export function writeBytes(
  [status, body, headers]: readonly unknown[],
  outgoing: ServerResponse,
): boolean {
  if (!(body instanceof Uint8Array) || body.byteLength > ONE_WRITE_BYTES) return false;
  if (!isPairs(headers) || typeof status !== "number") return false;
  const head = flat(headers);
  if (!headers.some(([name]) => name === "content-length"))
    head.push("content-length", String(body.byteLength));
  const { byteLength, byteOffset, buffer } = body;
  // Node joins a head with text, of which Latin-1 is the encoding that keeps bytes as they are.
  const text = Buffer.from(buffer, byteOffset, byteLength).toString("latin1");
  try {
    outgoing.writeHead(status, head);
    outgoing.end(text, "latin1");
  } catch {
    outgoing.destroy();
  }
  return true;
}

/** Bytes of a body that is written in one go: the system copies them while nothing else runs, a megabyte in one millisecond. */
const SLICE_BYTES = 512 * 1024;

/** Writes a long body of bytes in slices, between which other requests go on; false when the parts hold something else. */
export function writeLongBytes(
  response: Response,
  [, body]: readonly unknown[],
  outgoing: ServerResponse,
): boolean {
  if (!(body instanceof Uint8Array) || body.byteLength <= SLICE_BYTES) return false;
  // The length comes last, as in `flat`: a file's name would arrive damaged behind it.
  const headers = { ...headersOf(response.headers), "content-length": String(body.byteLength) };
  try {
    outgoing.writeHead(response.status, headers);
  } catch {
    outgoing.destroy();
  }
  void writeBody(slicesOf(body), outgoing);
  return true;
}

function slicesOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.byteLength) return controller.close();
      controller.enqueue(bytes.subarray(at, at + SLICE_BYTES));
      at += SLICE_BYTES;
    },
  });
}

/** Whether headers are kept as the gateway gives them. */
function isPairs(headers: unknown): headers is [string, string][] {
  return Array.isArray(headers);
}

/**
 * Names and values in turn, as Node takes them cheapest. The length comes last: once Node has seen it, it reads a
 * `content-disposition` as UTF-8, so that a file's name arrives damaged or, beyond Latin-1, not at all.
 */
function flat(pairs: readonly [string, string][]): string[] {
  const head: string[] = [];
  let length: string | undefined;
  // `Array.prototype.flat` takes five times as long.
  for (const [name, value] of pairs) {
    if (name === "content-length") length = value;
    else head.push(name, value);
  }
  if (length !== undefined) head.push("content-length", length);
  return head;
}

/** Writes an upstream's body straight from its connection; false when {@link cachedParts} hold something else. */
export function writeUpstream(
  [status, stream, headers]: readonly unknown[],
  outgoing: ServerResponse,
): boolean {
  if (!(stream instanceof ReadableStream) || !isPairs(headers)) return false;
  if (typeof status !== "number") return false;
  const body = upstreamBodyOf(stream);
  if (body === undefined) return false;
  const cancel = (): void => {
    body.cancel();
  };
  if (outgoing.destroyed) {
    cancel();
    return true;
  }
  outgoing.once("close", cancel);
  const sink = turnWriter(outgoing, () => body.resume());
  try {
    outgoing.writeHead(status, flat(headers));
    body.pipe(sink);
    // The first event may be long in coming; one that waits brings the head along.
    if (!sink.isWaiting()) outgoing.flushHeaders();
  } catch {
    outgoing.destroy();
  }
  return true;
}

interface TurnWriter extends DirectSink {
  /** Whether bytes have come that are not written yet. */
  isWaiting(): boolean;
}

/** Writes what comes in one turn as one chunk: Node makes four pieces of each, and one packet brings many events. */
function turnWriter(outgoing: ServerResponse, resume: () => void): TurnWriter {
  let waiting: Uint8Array[] = [];
  let hasRoom = true;
  const flush = (): void => {
    const [first] = waiting;
    if (first === undefined) return;
    const isOne = waiting.length === 1;
    hasRoom = outgoing.write(isOne ? first : Buffer.concat(waiting));
    waiting = [];
  };
  outgoing.on("drain", () => {
    hasRoom = true;
    resume();
  });
  return {
    isWaiting: () => waiting.length > 0,
    write(chunk) {
      if (waiting.push(chunk) === 1) nextTick(flush);
      return hasRoom;
    },
    end() {
      flush();
      outgoing.end();
    },
    // The client learns that the answer is not whole.
    fail: () => void outgoing.destroy(),
  };
}

export async function writeResponse(
  response: Response,
  outgoing: ServerResponse,
): Promise<Response> {
  const { body } = response;
  try {
    const isEvents = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    outgoing.writeHead(response.status, headersOf(response.headers));
    if (isEvents) outgoing.flushHeaders();
  } catch {
    outgoing.destroy();
  }
  await writeBody(body, outgoing);
  return RESPONSE_ALREADY_SENT;
}

/** Writes a body with backpressure and ends; one that fails breaks the connection off, a reader that leaves cancels it. */
export async function writeBody(
  body: ReadableStream<Uint8Array> | null,
  to: Writable,
): Promise<void> {
  const reader = body?.getReader();
  const cancel = (): void => void reader?.cancel().catch(() => undefined);
  if (to.destroyed) return cancel();
  // Also when the client leaves between two chunks.
  to.once("close", cancel);
  try {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) break;
      if (to.destroyed) return;
      if (!to.write(value)) await mayWriteOn(to);
    }
    to.end();
  } catch {
    // The maker of the stream knows the cause; the client learns that the answer is incomplete.
    to.destroy();
  }
}

/** Returns the headers for Node; several `Set-Cookie` stay several. */
export function headersOf(headers: Headers): Record<string, string | string[]> {
  const out: Record<string, string | string[]> = {};
  for (const [name, value] of headers) if (name !== "set-cookie") out[name] = value;
  const cookies = headers.getSetCookie();
  if (cookies.length > 0) out["set-cookie"] = cookies;
  return out;
}
