import type { Actors, Log } from "../../core/ports.ts";
import { outcomeOf } from "../shared/actors/crossing.ts";
import type { Upgrade } from "../shared/sockets/sockets.ts";
import { bodySink, bodySource, type BodySink, type BodySource } from "./body.ts";
import type { BodyMessage, RequestHead, SocketMessage, ToGuest, ToHolder } from "./messages.ts";
import { remoteSocket, type RemoteSocket } from "./remote-socket.ts";

/** Upgrades of requests that came from guests. */
export type RemoteUpgrades = WeakMap<Request, Upgrade>;

/** A request of a guest's client at an actor of this process. */
export interface Visit {
  hear(message: BodyMessage | SocketMessage): void;
  /** The client has left. */
  abort(): void;
  /** The guest is gone. */
  lost(): void;
  /** Whether it is a WebSocket by now. */
  isSocket(): boolean;
}

/** What a visit needs. */
export interface VisitOptions {
  readonly actors: Pick<Actors, "get">;
  readonly upgrades: RemoteUpgrades;
  readonly log: Log;
  readonly send: (message: ToGuest) => void;
  /** Called when nothing more will be said of it. */
  readonly over: () => void;
}

interface State {
  readonly upload: BodySink | undefined;
  readonly left: AbortController;
  /** Held as long as the visit: Node's requests pass an abort on only while somebody holds them. */
  request: Request | undefined;
  socket: RemoteSocket | undefined;
  answer: BodySource | undefined;
}

/** Hands a guest's request to its actor and the answer back. */
export function visit(
  asked: Extract<ToHolder, { readonly type: "fetch" }>,
  options: VisitOptions,
): Visit {
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
    // Nobody sends what is still to come of it.
    upload?.broken();
    options.over();
  };
  const send = (message: ToGuest): void => {
    options.send(message);
    // The answer's body is through.
    if (message.type === "end" || message.type === "broken") over();
  };
  const work = (): Promise<boolean> => respond(state, asked, { ...options, send });
  void outcomeOf(work, options.log, `${asked.kind}.fetch`).then((outcome) => {
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
    lost() {
      left.abort();
      upload?.broken();
      state.answer?.unread();
      state.socket?.hear({ type: "closed", id, code: 1006, reason: "" });
    },
  };
}

/** Has the actor answer; resolves once the head is sent. */
async function respond(
  state: State,
  { head, id, kind, name }: Extract<ToHolder, { readonly type: "fetch" }>,
  { actors, send, upgrades }: VisitOptions,
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
  // Unasked, so that a short answer arrives as one: its only piece, and its end.
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

/** Throws for what a server may receive and no program may make, such as the method TRACE. */
function toRequest(
  { headers, method, url }: RequestHead,
  body: ReadableStream<Uint8Array> | undefined,
  signal: AbortSignal,
): Request {
  const pairs = headers.map(([name, value]): [string, string] => [name, value]);
  const upload = body === undefined ? {} : { body, duplex: "half" };
  return new Request(url, { method, headers: pairs, signal, ...upload });
}
