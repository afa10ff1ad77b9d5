import type { ClientRequest, IncomingMessage } from "node:http";
import { ApiError } from "../../core/http/api-error.ts";
import { valueOf } from "../shared/actors/call-outcome.ts";
import type { Upgrade } from "../shared/sockets/sockets.ts";
import { bodyOf, sendBody } from "./body.ts";
import { link, messageFrame, readFirst } from "./link.ts";
import { decodePlain } from "./plain-codec.ts";
import type {
  AnswerHead,
  RequestHead,
  SocketMessage,
  CarriedSocketOptions,
  SocketOrder,
} from "./messages.ts";
import { NotStarted, type OwnerErrors } from "./owner-errors.ts";
import { peerSocket, type PeerSocket } from "./peer-socket.ts";
import { LEAVING, MOVED } from "./routes.ts";

/** A request that this process received and an actor of another process answers. */
export interface OutgoingRequest {
  readonly response: Promise<Response>;
  /** The owner is unresponsive: answers 503 unless an answer has begun, which continues when the owner recovers. */
  giveUp(): void;
  /** Closes the WebSocket, if there is one. */
  closeSocket(code: number, reason: string): void;
}

export interface OutgoingRequestOptions {
  readonly upgrade: Upgrade;
  readonly errors: OwnerErrors;
  /** Opens the request to the owner, whose body begins with `head`, the encoded {@link RequestHead}. It waits for the owner's consent if `asksFirst`. */
  readonly open: (head: Uint8Array, asksFirst: boolean) => ClientRequest;
  /** The owner shuts down. */
  readonly onLeaving: () => void;
  /** Called when no more follows. */
  readonly over: () => void;
}

interface State {
  readonly request: Request;
  /** Read from the request once: Deno has none for a request whose client has left. */
  readonly body: ReadableStream<Uint8Array> | null;
  readonly options: OutgoingRequestOptions;
  readonly sent: ClientRequest;
  readonly answer: PromiseWithResolvers<Response>;
  /** Whether the request goes to the next owner. */
  isMoved: boolean;
  /** Whether the client has got an answer, or the beginning of one. */
  isAnswered: boolean;
  /** Whether the upload is being read. */
  isRead: boolean;
  socket: PeerSocket | undefined;
}

/** Sends a request to an actor of another process. */
export function outgoingRequest(
  request: Request,
  options: OutgoingRequestOptions,
): OutgoingRequest {
  const { body, headers, method, signal, url } = request;
  const hasBody = body !== null;
  const head: RequestHead = { method, url, headers: [...headers], hasBody };
  const frame = messageFrame(head);
  const bytes = Buffer.concat(frame);
  const sent = options.open(frame[1], hasBody);
  const answer = Promise.withResolvers<Response>();
  const flags = { isMoved: false, isAnswered: false, isRead: false, socket: undefined };
  const state: State = { request, body, options, sent, answer, ...flags };
  const abort = (): void => {
    // How the client of a WebSocket has left is for the WebSocket to say.
    if (state.socket !== undefined) return;
    // An error of the API: its text is not used, and another error would be logged.
    answer.reject(new ApiError("unavailable", { message: "The client has left" }));
    sent.destroy();
  };
  listen(state, bytes, () => {
    signal.removeEventListener("abort", abort);
    options.over();
  });
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  if (hasBody) sent.flushHeaders();
  // A WebSocket goes on in the bodies.
  else if (headers.has("upgrade")) sent.write(bytes);
  else sent.end(bytes);
  return {
    response: answer.promise,
    giveUp() {
      if (state.isAnswered) return;
      answer.reject(options.errors.didNotAnswer());
      // The owner must not take a part of the body for the whole body once it recovers.
      sent.destroy();
      upload(state);
    },
    closeSocket: (code, reason) => {
      state.socket?.close(code, reason);
    },
  };
}

function listen(state: State, head: Uint8Array, over: () => void): void {
  const { answer, options, sent } = state;
  sent.once("continue", () => {
    sent.write(head);
    upload(state);
  });
  let isAnswering = false;
  sent.once("response", (response) => {
    // From here on the answer tells how it ends: a short one is complete before its head is read.
    isAnswering = true;
    receive(state, response).catch((error: unknown) => {
      answer.reject(error);
      sent.destroy();
    });
  });
  sent.on("error", () => undefined);
  sent.once("close", () => {
    if (!isAnswering) answer.reject(options.errors.ended());
    if (!state.isMoved) upload(state);
    over();
  });
}

/** Sends the body, and drops the rest once the other end has stopped reading. A request that moves to the next owner takes its body along. */
function upload(state: State): void {
  if (state.body === null || state.isRead) return;
  state.isRead = true;
  void sendBody(state.body, state.sent, "drain");
}

async function receive(state: State, response: IncomingMessage): Promise<void> {
  const { answer, options, request, sent } = state;
  response.on("error", () => undefined);
  if (response.statusCode === MOVED) {
    state.isMoved = true;
    if (response.headers[LEAVING] !== undefined) options.onLeaving();
    throw new NotStarted();
  }
  const head = await headOf(response, options.errors);
  state.isAnswered = true;
  if ("upgrade" in head) {
    answer.resolve(carrySocket(state, response, head.upgrade));
    return;
  }
  // After a request that might have become a WebSocket.
  if (state.body === null) sent.end();
  if (!("status" in head)) {
    response.resume();
    valueOf(head);
    return;
  }
  const isRead = request.method !== "HEAD" && !request.signal.aborted;
  if (!head.hasBody) response.resume();
  else if (!isRead) sent.destroy();
  const body = head.hasBody && isRead ? bodyOf(response, () => sent.destroy()) : null;
  const headers = head.headers.map(([name, value]): [string, string] => [name, value]);
  answer.resolve(new Response(body, { status: head.status, headers }));
}

/** Reads the head of an answer; rejects with 503 when the owner ends, or refuses the request. */
async function headOf(response: IncomingMessage, errors: OwnerErrors): Promise<AnswerHead> {
  if (response.statusCode !== 200) throw errors.ended();
  try {
    return decodePlain(await readFirst(response)) as AnswerHead;
  } catch {
    throw errors.ended();
  }
}

/** Upgrades the client's request, and passes on what happens. Throws when it cannot be upgraded. */
function carrySocket(state: State, from: IncomingMessage, options: CarriedSocketOptions): Response {
  const { request, sent } = state;
  const { send, unsent } = link<SocketOrder, SocketMessage>(
    { from, to: sent },
    {
      message: (order) => state.socket?.obey(order),
      close: () => state.socket?.close(1012, "The server moves: come back"),
    },
  );
  const { response, socket } = peerSocket(options, request, state.options.upgrade, {
    tell: send,
    unsent,
  });
  state.socket = socket;
  from.resume();
  return response;
}
