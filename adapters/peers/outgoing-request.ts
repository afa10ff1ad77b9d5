import { valueOf, type CallOutcome } from "../shared/actors/call-outcome.ts";
import type { Upgrade } from "../shared/sockets/sockets.ts";
import { bodySink, bodySource, type BodySink, type BodySource } from "./body.ts";
import { ownerEnded, NotStarted, ownerDidNotAnswer } from "./owner-errors.ts";
import { peerSocket, type PeerSocket } from "./peer-socket.ts";
import type { ResponseHead, SocketOrder, ToPeer, ToOwner } from "./messages.ts";

/** A request that this process received and an actor of the lock owner answers. */
export interface OutgoingRequest {
  readonly response: Promise<Response>;
  hear(message: Extract<ToPeer, { readonly id: number }>): void;
  /** The connection to the lock owner is lost. */
  ownerLost(): void;
  /** The lock owner is unresponsive: answers 503 unless an answer has begun, which continues when the owner recovers. */
  giveUp(): void;
  /** Closes the WebSocket, if there is one. */
  closeSocket(code: number, reason: string): void;
}

/** Options of {@link outgoingRequest}. */
export interface OutgoingRequestOptions {
  readonly id: number;
  readonly kind: string;
  readonly name: string;
  readonly upgrade: Upgrade;
  readonly send: (message: ToOwner) => void;
  /** Bytes that the lock owner has not read yet. */
  readonly unsent: () => number;
  /** Called when no more messages about it follow. */
  readonly over: () => void;
}

interface State {
  readonly request: Request;
  readonly options: OutgoingRequestOptions;
  readonly answer: PromiseWithResolvers<Response>;
  readonly send: (message: ToOwner) => void;
  upload: BodySource | undefined;
  download: BodySink | undefined;
  socket: PeerSocket | undefined;
  /** The runtime's response to the upgrade. */
  upgraded: Response | undefined;
  /** Whether the client has got an answer, or the beginning of one. */
  isAnswered: boolean;
  /** Whether the client was answered here instead of by the lock owner. */
  isGivenUp: boolean;
}

/** Sends a request to an actor of the lock owner. */
export function outgoingRequest(
  request: Request,
  options: OutgoingRequestOptions,
): OutgoingRequest {
  const { id, kind, name } = options;
  const { method, signal, url } = request;
  const abort = (): void => {
    state.send({ type: "abort", id });
  };
  const over = (): void => {
    signal.removeEventListener("abort", abort);
    options.over();
  };
  const state = newState(request, { ...options, over });
  const head = { method, url, headers: [...request.headers], hasBody: state.upload !== undefined };
  state.send({ type: "fetch", id, kind, name, head });
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return {
    response: state.answer.promise,
    hear(message) {
      try {
        hear(state, message);
      } catch (error) {
        // Such as a status that no response can have.
        state.answer.reject(error);
        state.send({ type: "unread", id });
      }
    },
    ownerLost() {
      over();
      state.answer.reject(ownerEnded());
      state.download?.broken();
      state.upload?.drain();
      state.socket?.close(1012, "The server moves: come back");
    },
    giveUp() {
      if (state.isAnswered) return;
      state.isAnswered = true;
      state.isGivenUp = true;
      state.answer.reject(ownerDidNotAnswer());
      // The lock owner must not take a part of the body for the whole body once it recovers.
      state.send({ type: "abort", id });
      if (state.upload === undefined) return;
      state.send({ type: "broken", id });
      state.upload.drain();
      state.upload = undefined;
    },
    closeSocket: (code, reason) => {
      state.socket?.close(code, reason);
    },
  };
}

function newState(request: Request, options: OutgoingRequestOptions): State {
  const send = (message: ToOwner): void => {
    if (message.type === "closed" || message.type === "unread") options.over();
    options.send(message);
  };
  return {
    request,
    options,
    answer: Promise.withResolvers(),
    send,
    upload: request.body === null ? undefined : bodySource(options.id, request.body, send),
    download: undefined,
    socket: undefined,
    upgraded: undefined,
    isAnswered: false,
    isGivenUp: false,
  };
}

function hear(state: State, message: Extract<ToPeer, { readonly id: number }>): void {
  const { download, options, upload } = state;
  if (message.type === "responded") respond(state, message.head);
  else if (message.type === "upgrade") upgrade(state, message);
  else if (message.type === "returned") {
    options.over();
    refuse(state, message.outcome);
  } else if (message.type === "moved") {
    options.over();
    state.answer.reject(new NotStarted());
  } else if (message.type === "more") upload?.more();
  else if (message.type === "unread") upload?.unread();
  else if (message.type === "chunk") download?.chunk(message.bytes);
  else if (message.type === "end" || message.type === "broken") {
    options.over();
    download?.[message.type]();
  } else state.socket?.obey(message);
}

/** `returned` comes instead of a response only for an error. */
function refuse({ answer }: State, outcome: CallOutcome): void {
  try {
    valueOf(outcome);
  } catch (error) {
    answer.reject(error);
  }
}

function upgrade(state: State, order: Extract<SocketOrder, { readonly type: "upgrade" }>): void {
  const { options, request, send } = state;
  if (state.isGivenUp) {
    send({ type: "closed", id: order.id, code: 1006, reason: "" });
    return;
  }
  try {
    ({ response: state.upgraded, socket: state.socket } = peerSocket(
      order,
      request,
      options.upgrade,
      { tell: send, unsent: options.unsent },
    ));
    state.isAnswered = true;
  } catch (error) {
    state.answer.reject(error);
    send({ type: "closed", id: order.id, code: 1006, reason: "" });
  }
}

function respond(state: State, { hasBody, headers, status }: ResponseHead): void {
  const { answer, isGivenUp, options, request, send, upgraded } = state;
  state.isAnswered = true;
  if (upgraded !== undefined && status < 400) {
    answer.resolve(upgraded);
    return;
  }
  const isRead = request.method !== "HEAD" && !request.signal.aborted && !isGivenUp;
  if (hasBody && !isRead) send({ type: "unread", id: options.id });
  else if (hasBody) state.download = bodySink(options.id, send);
  else if (upgraded === undefined) options.over();
  const pairs = headers.map(([name, value]): [string, string] => [name, value]);
  answer.resolve(new Response(state.download?.stream ?? null, { status, headers: pairs }));
}
