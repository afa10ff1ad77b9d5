import { mayWriteOn } from "../http/may-write-on.ts";
import type { Socket } from "node:net";
import { type Head, readHead, valuesOf, writeHead } from "./egress-head.ts";
import { answerEnd, requestEnd, type BodyEnd } from "./message-body.ts";
import type { Inbox } from "./inbox.ts";

/** The state after an exchange: whether the next request may use each connection. */
export interface Leftover {
  readonly client: boolean;
  readonly upstream: boolean;
}

/** Headers that are for one connection only, or for the proxy. */
const HOP_HEADERS = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "upgrade",
];

const over: Leftover = { client: false, upstream: false };

/**
 * Sends one request in origin form and hands its answer back. A connection is used again only when the ends of the bodies
 * are beyond doubt; otherwise both sides learn that it ends with the answer.
 */
export async function exchange(
  client: Inbox,
  upstream: Inbox,
  request: { readonly head: Head; readonly url: URL; readonly idleMs: number },
): Promise<Leftover> {
  const { head, url, idleMs } = request;
  const [method = ""] = head.first.split(" ");
  const bodyEnd = requestEnd(head);
  upstream.socket.write(
    writeHead(
      `${method} ${url.pathname}${url.search} HTTP/1.1`,
      head.lines,
      HOP_HEADERS,
      bodyEnd === null ? "close" : "keep-alive",
    ),
  );
  let isSent = false;
  const sending = passBody(client, upstream.socket, bodyEnd).then((isWhole) => {
    isSent = isWhole;
    if (!isWhole && bodyEnd !== null) upstream.socket.destroy();
  });
  // A failure ends both connections, and the answer with them.
  sending.catch(() => upstream.socket.destroy());
  const answer = await answerHead(client.socket, upstream, idleMs);
  if (answer === null) return over;
  const { status } = answer;
  // A server that answers 407 poses as the proxy, to be given its login.
  if (status === 407) return over;
  const end = answerEnd(method, status, answer.head);
  const goesOn = bodyEnd !== null && end !== null;
  const { first, lines } = answer.head;
  client.socket.write(writeHead(first, lines, HOP_HEADERS, goesOn ? "keep-alive" : "close"));
  const isWhole = await passBody(upstream, client.socket, end);
  if (end === null) client.socket.end();
  if (!goesOn || !isWhole || !isSent) return over;
  const closes = valuesOf(answer.head, "connection").some((value) => /\bclose\b/i.test(value));
  const isModern = first.startsWith("HTTP/1.1 ");
  return { client: true, upstream: isModern && !closes };
}

/** Returns the head of the final answer; those before it (such as 103) are handed on. */
async function answerHead(
  client: Socket,
  upstream: Inbox,
  idleMs: number,
): Promise<{ readonly head: Head; readonly status: number } | null> {
  for (;;) {
    const head = await readHead(upstream, idleMs);
    if (head === null) return null;
    const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(head.first)?.[1]);
    if (Number.isNaN(status)) return null;
    if (status === 101 || status >= 200) return { head, status };
    client.write(writeHead(head.first, head.lines, HOP_HEADERS));
  }
}

/** Hands a body on at the receiver's pace; tells whether it came to its end. Without one it ends with the connection. */
async function passBody(from: Inbox, to: Socket, end: BodyEnd | null): Promise<boolean> {
  for (;;) {
    if (end?.isReached === true) return true;
    const bytes = await from.next();
    if (bytes === null) return false;
    const size = end === null ? bytes.length : end.take(bytes);
    from.putBack(bytes.subarray(size));
    if (to.destroyed) return false;
    if (!to.write(bytes.subarray(0, size))) await mayWriteOn(to);
  }
}
