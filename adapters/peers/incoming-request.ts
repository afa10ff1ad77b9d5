import type { IncomingMessage, ServerResponse } from "node:http";
import type { ActorRef, Log, Plain } from "../../core/ports.ts";
import { settledCall } from "../shared/actors/call-outcome.ts";
import type { Upgrade } from "../shared/sockets/sockets.ts";
import { bodyOf, sendBody } from "./body.ts";
import { messageFrame, link } from "./link.ts";
import type { AnswerHead, RequestHead, SocketMessage, SocketOrder } from "./messages.ts";
import { remoteSocket, type RemoteSocket } from "./remote-socket.ts";

/** Upgrades of requests that came from peers. */
export type RemoteUpgrades = WeakMap<Request, Upgrade>;

/** A request of a peer's client, while it is under way. */
export interface IncomingRequest {
  /** Referenced while the answer is under way: Node's requests pass an abort on only while they are reachable. */
  request: Request | undefined;
  /** The WebSocket that it has become. */
  socket: RemoteSocket | undefined;
}

/** Options of {@link answerPeer}. */
export interface IncomingRequestOptions {
  readonly actor: ActorRef;
  /** Names the actor's kind in the log. */
  readonly kind: string;
  readonly upgrades: RemoteUpgrades;
  readonly log: Log;
}

/** The two ends of an exchange with a peer. */
interface Exchange {
  readonly from: IncomingMessage;
  readonly to: ServerResponse;
}

/** Hands a peer's request to its actor and the answer back. Resolves when the answer is sent, or the peer has left. */
export async function answerPeer(
  state: IncomingRequest,
  head: RequestHead,
  { from, to }: Exchange,
  options: IncomingRequestOptions,
): Promise<void> {
  const left = new AbortController();
  to.once("close", () => {
    if (!to.writableFinished) left.abort();
  });
  let body: ReadableStream<Uint8Array> | null = null;
  const work = async (): Promise<Plain> => {
    const upload = head.hasBody ? bodyOf(from, () => undefined) : undefined;
    state.request = toRequest(head, upload, left.signal);
    options.upgrades.set(state.request, (_request, protocol, events, maxMessage) => {
      if (state.socket !== undefined) return null;
      state.socket = remoteSocket(events, { protocol, maxMessage });
      return { socket: state.socket.socket, response: new Response(null) };
    });
    const response = await options.actor.fetch(state.request);
    ({ body } = response);
    const { headers, status } = response;
    return { status, headers: [...headers], hasBody: body !== null };
  };
  const outcome = await settledCall(work, options.log, `${options.kind}.fetch`);
  // `as`: what `work` has returned.
  const answer = "value" in outcome ? (outcome.value as AnswerHead) : outcome;
  const isAnswer = "status" in answer;
  if (state.socket !== undefined && isAnswer && answer.status < 400)
    await carrySocket(state.socket, { from, to });
  else await sendAnswer(answer, body, to);
  // An actor that took the WebSocket and then failed.
  state.socket?.lost();
}

async function sendAnswer(
  head: AnswerHead,
  body: ReadableStream<Uint8Array> | null,
  to: ServerResponse,
): Promise<void> {
  to.write(Buffer.concat(messageFrame(head)));
  if (body === null) to.end();
  else await sendBody(body, to, "cancel");
}

/** Passes on what the actor sends, and what the peer's client does. Resolves when the connection is closed. */
function carrySocket(carried: RemoteSocket, { from, to }: Exchange): Promise<void> {
  return new Promise((resolve) => {
    const head: AnswerHead = { upgrade: carried.options };
    to.write(Buffer.concat(messageFrame(head)));
    const peer = link<SocketMessage, SocketOrder>(
      { from, to },
      {
        message(message) {
          carried.hear(message);
          if (message.type === "closed") peer.end();
        },
        close: resolve,
      },
    );
    carried.attach(peer.send);
    from.resume();
  });
}

/** Throws for a request that a server may receive but a program cannot construct, such as one with the method TRACE. */
function toRequest(
  { headers, method, url }: RequestHead,
  body: ReadableStream<Uint8Array> | undefined,
  signal: AbortSignal,
): Request {
  const pairs = headers.map(([name, value]): [string, string] => [name, value]);
  const upload = body === undefined ? {} : { body, duplex: "half" as const };
  return new Request(url, { method, headers: pairs, signal, ...upload });
}
