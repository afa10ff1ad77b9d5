import type { Actors, Log } from "../../../core/ports.ts";
import { outcomeOf } from "../crossing.ts";
import type { Upgrade } from "../sockets.ts";
import { bodySink, bodySource, type BodySource } from "./body.ts";
import type { BodyMessage, SocketMessage, ToGuest, ToHolder } from "./messages.ts";
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
}

/** What a visit needs. */
export interface VisitOptions {
  readonly actors: Pick<Actors, "get">;
  readonly upgrades: RemoteUpgrades;
  readonly log: Log;
  readonly send: (message: ToGuest) => void;
  /** Called once, when nothing more will be said of it. */
  readonly over: () => void;
}

/** Hands a guest's request to its actor and the answer back. */
export function visit(
  asked: Extract<ToHolder, { readonly type: "fetch" }>,
  options: VisitOptions,
): Visit {
  const { head, id, kind, name } = asked;
  const { send } = options;
  const left = new AbortController();
  const upload = head.hasBody ? bodySink(id, send) : undefined;
  const request = new Request(head.url, {
    method: head.method,
    headers: head.headers.map(([key, value]): [string, string] => [key, value]),
    signal: left.signal,
    ...(upload === undefined ? {} : { body: upload.stream, duplex: "half" }),
  });
  let socket: RemoteSocket | undefined;
  let answer: BodySource | undefined;
  options.upgrades.set(request, (_request, protocol, events, maxMessage) => {
    if (socket !== undefined) return null;
    socket = remoteSocket(id, events, send);
    send({ type: "upgrade", id, protocol, maxMessage });
    return { socket: socket.socket, response: new Response(null) };
  });
  const fetching = outcomeOf(
    async () => {
      const response = await options.actors.get(kind, name).fetch(request);
      const { body, headers, status } = response;
      if (body !== null) answer = bodySource(id, body, send);
      const hasBody = answer !== undefined;
      send({ type: "responded", id, head: { status, headers: [...headers], hasBody } });
      return hasBody;
    },
    options.log,
    `${kind}.fetch`,
  );
  void fetching.then((outcome) => {
    if ("thrown" in outcome) send({ type: "returned", id, outcome });
    if (answer === undefined && socket === undefined) options.over();
  });
  return {
    hear(message) {
      if (message.type === "more") answer?.more();
      else if (message.type === "unread") answer?.unread();
      else if (message.type === "chunk") upload?.chunk(message.bytes);
      else if (message.type === "end") upload?.end();
      else if (message.type === "broken") upload?.broken();
      else socket?.hear(message);
      if (message.type === "closed") options.over();
    },
    abort() {
      left.abort();
    },
    lost() {
      left.abort();
      upload?.broken();
      answer?.unread();
      socket?.hear({ type: "closed", id, code: 1006, reason: "" });
    },
  };
}
