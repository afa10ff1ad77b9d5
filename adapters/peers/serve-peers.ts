import { setTimeout as pause } from "node:timers/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import process from "node:process";
import type { Duplex } from "node:stream";
import { ApiError } from "../../core/http/api-error.ts";
import type { Actors, Log } from "../../core/ports.ts";
import { settledCall, type CallOutcome } from "../shared/actors/call-outcome.ts";
import { answerPeer, type IncomingRequest, type RemoteUpgrades } from "./incoming-request.ts";
import { link, readFirst, type Link } from "./link.ts";
import type { RequestHead, ToOwner, ToPeer } from "./messages.ts";
import { decodePlain } from "./plain-codec.ts";
import {
  actorOf,
  CALLS,
  LEAVING,
  MOVED,
  UNLIKE,
  PID,
  SPEAKS,
  speakAlike,
  UPGRADE,
} from "./routes.ts";
import { hashOf, type Signatures } from "./signature.ts";

/** The address at which a process listens or is called: a Unix socket, or host and port. */
export type PeerAddress =
  | { readonly path: string }
  | { readonly host: string; readonly port: number };

export interface ServePeersOptions {
  readonly address: PeerAddress;
  readonly actors: Pick<Actors, "get">;
  /** Whether an actor is here; calls of others are sent back unstarted. @default all are */
  readonly isHere?: ((kind: string, name: string) => boolean) | undefined;
  readonly upgrades: RemoteUpgrades;
  readonly log: Log;
  /** The properties on which both ends have to agree; see `speakAlike`. */
  readonly speaks: string;
  /** Checks the signatures of callers. @default every caller is accepted: for a socket that only this user may open */
  readonly signatures?: Signatures | undefined;
}

/** The listener for other processes. */
export interface PeerServer {
  /** The port that was given, or chosen for port 0; null for a Unix socket. */
  readonly port: number | null;
  /** Takes no new calls (they go to the next owner) and waits so many ms for answers under way. */
  leave(withinMs: number): Promise<void>;
  /** Sends what is queued, and closes. */
  close(): Promise<void>;
}

/** A peer's connection for its calls. */
interface Caller {
  readonly link: Link<ToPeer>;
  readonly socket: Duplex;
  /** Whether it makes no more calls. */
  hasLeft: boolean;
}

interface State {
  readonly options: ServePeersOptions;
  readonly callers: Set<Caller>;
  readonly requests: Set<IncomingRequest>;
  readonly onRefused: (refusal: string, address: string | undefined) => void;
  isLeaving: boolean;
}

/** A request has to send its head within this, in ms. */
const HEAD_MS = 5000;
/** Time between two lines of the log about refused requests, in ms: a stranger on the network can send any number of them. */
const REFUSAL_MS = 10_000;

/** Lets other processes call the actors of this one. */
export async function servePeers(options: ServePeersOptions): Promise<PeerServer> {
  const state: State = {
    options,
    callers: new Set(),
    requests: new Set(),
    onRefused: refusalLog(options.log),
    isLeaving: false,
  };
  const server = createServer({ headersTimeout: HEAD_MS, requestTimeout: 0 });
  // A connection that the caller keeps must not close just as it sends the next request.
  server.keepAliveTimeout = 0;
  const take = (from: IncomingMessage, to: ServerResponse): void => {
    to.on("error", () => undefined);
    from.on("error", () => undefined);
    void respond(state, from, to);
  };
  server.on("request", take).on("checkContinue", take);
  server.on("upgrade", (from: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => undefined);
    if (head.length > 0) socket.unshift(head);
    takeCalls(state, from, socket);
  });
  // Neither peers nor the listener keep the process alive.
  server.on("connection", (socket) => socket.unref());
  await listen(server, options.address);
  server.unref();
  const bound = server.address();
  return {
    port: bound === null || typeof bound === "string" ? null : bound.port,
    async leave(withinMs) {
      state.isLeaving = true;
      for (const caller of state.callers) caller.link.send({ type: "leaving" });
      const until = performance.now() + withinMs;
      while (isBusy(state) && performance.now() < until) await pause(5);
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const caller of state.callers) caller.link.end();
      server.closeIdleConnections();
      const patience = setTimeout(() => {
        server.closeAllConnections();
        for (const { socket } of state.callers) socket.destroy();
      }, 1000);
      await closed;
      clearTimeout(patience);
    },
  };
}

/** Whether calls may still arrive, or answers other than WebSockets are under way. */
function isBusy({ callers, requests }: State): boolean {
  return (
    [...callers].some(({ hasLeft }) => !hasLeft) ||
    [...requests].some(({ socket }) => socket === undefined)
  );
}

function listen(server: Server, address: PeerAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(address, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** Logs refused requests, and how many came since the line before. */
function refusalLog(log: Log): State["onRefused"] {
  let last = Number.NEGATIVE_INFINITY;
  let others = 0;
  return (refusal, address) => {
    const now = performance.now();
    if (now - last < REFUSAL_MS) {
      others += 1;
      return;
    }
    log("warn", `A request of another node is refused: ${refusal}`, { address, others });
    last = now;
    others = 0;
  };
}

/** A request that may be taken, or the status and text of its refusal. */
type Admission =
  | { readonly hash: string | null }
  | { readonly status: number; readonly text: string };

/** Checks who calls, and whether both ends speak alike. */
function admit({ isLeaving, options, onRefused }: State, from: IncomingMessage): Admission {
  const { signatures, speaks } = options;
  const signed = signatures?.check(from.method ?? "", from.url ?? "", from.headers);
  if (signed !== undefined && "refusal" in signed) {
    onRefused(signed.refusal, from.socket.remoteAddress);
    return { status: 401, text: "" };
  }
  if (!speakAlike(String(from.headers[SPEAKS]), encodeURIComponent(speaks)))
    return { status: UNLIKE, text: speaks };
  // The peer will look for the next owner.
  if (isLeaving) return { status: MOVED, text: "" };
  return { hash: signed?.hash ?? null };
}

async function respond(state: State, from: IncomingMessage, to: ServerResponse): Promise<void> {
  const { options } = state;
  const admission = admit(state, from);
  const refuse = (status: number, text = "", headers: Record<string, string> = {}): void => {
    // Its body may never come.
    to.writeHead(status, { connection: "close", ...headers }).end(text);
  };
  if ("status" in admission)
    return refuse(admission.status, admission.text, state.isLeaving ? { [LEAVING]: "1" } : {});
  const actor = actorOf(from.url ?? "");
  if (actor === null) return refuse(404);
  const { kind, name } = actor;
  if (options.isHere?.(kind, name) === false) return refuse(MOVED);
  const request: IncomingRequest = { request: undefined, socket: undefined };
  state.requests.add(request);
  const late = setTimeout(() => to.destroy(), HEAD_MS);
  try {
    if (from.headers.expect !== undefined) to.writeContinue();
    const bytes = await readFirst(from);
    clearTimeout(late);
    if (admission.hash !== null && hashOf(bytes) !== admission.hash) {
      refuse(401);
      return;
    }
    to.writeHead(200);
    // `as`: who may call speaks alike.
    const head = decodePlain(bytes) as RequestHead;
    const { log, upgrades } = options;
    const known = { actor: options.actors.get(kind, name), kind, log, upgrades };
    await answerPeer(request, head, { from, to }, known);
  } catch {
    // Half a head, or one that is none.
    to.destroy();
  } finally {
    clearTimeout(late);
    state.requests.delete(request);
  }
}

/** Takes a peer's connection for its calls. */
function takeCalls(state: State, from: IncomingMessage, socket: Duplex): void {
  const admission: Admission = from.url === CALLS ? admit(state, from) : { status: 404, text: "" };
  if ("status" in admission) {
    const { status, text } = admission;
    const head = `HTTP/1.1 ${status} Refused\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(text)}`;
    // Its client may never close it.
    socket.resume().end(`${head}\r\n\r\n${text}`, () => socket.destroy());
    return;
  }
  const protocol = `connection: upgrade\r\nupgrade: ${UPGRADE}\r\n${PID}: ${process.pid}`;
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${protocol}\r\n\r\n`);
  const { options } = state;
  const handle = (message: ToOwner): void => {
    if (message.type === "left") caller.hasLeft = true;
    else if (message.type === "ping") toPeer.send({ type: "pong" });
    else if (state.isLeaving || options.isHere?.(message.kind, message.name) === false)
      toPeer.send({ type: "moved", id: message.id });
    else void call(message, options, toPeer);
  };
  const toPeer: Link<ToPeer> = link<ToOwner, ToPeer>(
    { from: socket, to: socket },
    { message: handle, close: () => state.callers.delete(caller) },
  );
  const caller: Caller = { link: toPeer, socket, hasLeft: false };
  state.callers.add(caller);
}

async function call(
  { id, kind, name, method, args }: Extract<ToOwner, { readonly type: "call" }>,
  { actors, log }: ServePeersOptions,
  toPeer: Link<ToPeer>,
): Promise<void> {
  const work = () => actors.get(kind, name).call(method, ...args);
  const outcome = await settledCall(work, log, `${kind}.${method}`);
  try {
    toPeer.send({ type: "returned", id, outcome });
  } catch {
    toPeer.send({ type: "returned", id, outcome: cannotCross(kind, method) });
  }
}

function cannotCross(kind: string, method: string): CallOutcome {
  const message = `"${kind}.${method}" returned what cannot cross to another process`;
  return { thrown: { api: new ApiError("internal", { message }).toData() } };
}
