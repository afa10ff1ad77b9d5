import type { ServerResponse } from "node:http";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";

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

/** Whether node-server holds the body as text or bytes. */
export function isWhole(response: Response, key: symbol | null): boolean {
  if (key === null || !(key in response)) return false;
  const body: unknown = (Reflect.get(response, key) as readonly unknown[])[1];
  return body === null || typeof body === "string" || body instanceof Uint8Array;
}

/** Writes a streamed response with backpressure; a body that fails breaks the connection off. */
export async function writeResponse(
  response: Response,
  outgoing: ServerResponse,
): Promise<Response> {
  const { body } = response;
  const head = headersOf(response.headers);
  if (body === null) {
    outgoing.writeHead(response.status, head).end();
    return RESPONSE_ALREADY_SENT;
  }
  const reader = body.getReader();
  // Also when the client leaves between two chunks.
  outgoing.once("close", () => void reader.cancel().catch(() => undefined));
  try {
    const isEvents = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    outgoing.writeHead(response.status, head);
    if (isEvents) outgoing.flushHeaders();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (outgoing.destroyed) return RESPONSE_ALREADY_SENT;
      if (!outgoing.write(value)) await drained(outgoing);
    }
    outgoing.end();
  } catch {
    // The cause is known to whoever made the stream; the client learns that the answer is not whole.
    outgoing.destroy();
  }
  return RESPONSE_ALREADY_SENT;
}

function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      outgoing.off("drain", done);
      outgoing.off("close", done);
      resolve();
    };
    outgoing.on("drain", done);
    outgoing.on("close", done);
  });
}

/** Headers for Node; several `Set-Cookie` stay several. */
export function headersOf(headers: Headers): Record<string, string | string[]> {
  const out: Record<string, string | string[]> = {};
  for (const [name, value] of headers) if (name !== "set-cookie") out[name] = value;
  const cookies = headers.getSetCookie();
  if (cookies.length > 0) out["set-cookie"] = cookies;
  return out;
}
