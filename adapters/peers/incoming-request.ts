import type { Actors, Log } from "../../core/ports.ts";
import { settledCall } from "../shared/actors/call-outcome.ts";
import type { Upgrade } from "../shared/sockets/sockets.ts";
import { bodySink, bodySource, type BodySink, type BodySource } from "./body.ts";
import type { BodyMessage, RequestHead, SocketMessage, ToPeer, ToOwner } from "./messages.ts";
import { remoteSocket, type RemoteSocket } from "./remote-socket.ts";

/** Upgrades of requests that came from peers. */
export type RemoteUpgrades = WeakMap<Request, Upgrade>;

/** A request that a peer's client sends to an actor of this process. */
export interface IncomingRequest {
  hear(message: BodyMessage | SocketMessage): void;
  /** The client has left. */
  abort(): void;
  /** The peer is gone. */
  peerLost(): void;
  /** Whether it is a WebSocket by now. */
  isSocket(): boolean;
}

/** Options of {@link incomingRequest}. */
export interface IncomingRequestOptions {
  readonly actors: Pick<Actors, "get">;
  readonly upgrades: RemoteUpgrades;
  readonly log: Log;
  readonly send: (message: ToPeer) => void;
  /** Called when no more messages about it follow. */
  readonly over: () => void;
}

interface State {
  readonly upload: BodySink | undefined;
  readonly left: AbortController;
  /** Referenced while the answer is under way: Node's requests pass an abort on only while they are reachable. */
  request: Request | undefined;
  socket: RemoteSocket | undefined;
  answer: BodySource | undefined;
}

/** Hands a peer's request to its actor and the answer back. */
export function incomingRequest(
  asked: Extract<ToOwner, { readonly type: "fetch" }>,
  options: IncomingRequestOptions,
): IncomingRequest {
  const { head, id } = asked;
  const upload = head.hasBody ? bodySink(id, options.send) : undefined;
  const left = new AbortController();
  const state: State = {
    upload,
    left,
    request: undefined,
    socket: undefined,
    answer: undefined,
  };
  const over = (): void => {
    // No more of the upload will arrive.
    upload?.broken();
    options.over();
  };
  const send = (message: ToPeer): void => {
    options.send(message);
    // The answer's body is complete.
    if (message.type === "end" || message.type === "broken") over();
  };
  const work = (): Promise<boolean> => respond(state, asked, { ...options, send });
  void settledCall(work, options.log, `${asked.kind}.fetch`).then((outcome) => {
    if ("thrown" in outcome) send({ type: "returned", id, outcome });
    if (state.answer === undefined && state.socket === undefined) over();
  });
  return {
    hear(message) {
      hear(state, message);
      if (message.type === "closed" || message.type === "unread") over();
    },
    abort() {
      left.abort();
    },
    isSocket: () => state.socket !== undefined,
    peerLost() {
      left.abort();
      upload?.broken();
      state.answer?.unread();
      state.socket?.hear({ type: "closed", id, code: 1006, reason: "" });
    },
  };
}

/** Asks the actor for its answer; resolves once the head is sent. */
async function respond(
  state: State,
  { head, id, kind, name }: Extract<ToOwner, { readonly type: "fetch" }>,
  { actors, send, upgrades }: IncomingRequestOptions,
): Promise<boolean> {
  const request = toRequest(head, state.upload?.stream, state.left.signal);
  state.request = request;
  upgrades.set(request, (_request, protocol, events, maxMessage) => {
    if (state.socket !== undefined) return null;
    state.socket = remoteSocket(id, events, send);
    send({ type: "upgrade", id, protocol, maxMessage });
    return { socket: state.socket.socket, response: new Response(null) };
  });
  const { body, headers, status } = await actors.get(kind, name).fetch(request);
  if (body !== null) state.answer = bodySource(id, body, send);
  const hasBody = body !== null;
  send({ type: "responded", id, head: { status, headers: [...headers], hasBody } });
  // Sent before it is asked for, so that a short answer arrives at once: its only piece, and its end.
  for (let piece = 0; piece < 2; piece++) state.answer?.more();
  return hasBody;
}

function hear({ answer, socket, upload }: State, message: BodyMessage | SocketMessage): void {
  if (message.type === "more") answer?.more();
  else if (message.type === "unread") answer?.unread();
  else if (message.type === "chunk") upload?.chunk(message.bytes);
  else if (message.type === "end") upload?.end();
  else if (message.type === "broken") upload?.broken();
  else socket?.hear(message);
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
