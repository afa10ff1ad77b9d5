import { Agent, request as httpRequest, type ClientRequest, type RequestOptions } from "node:http";
import type { Socket } from "node:net";
import type { ActorRef, Log, Plain } from "../../core/ports.ts";
import { valueOf, type CallOutcome } from "../shared/actors/call-outcome.ts";
import type { Upgrade } from "../shared/sockets/sockets.ts";
import { heartbeat, type Heartbeat } from "./heartbeat.ts";
import { link, type Link } from "./link.ts";
import type { ToOwner, ToPeer } from "./messages.ts";
import { outgoingRequest, type OutgoingRequest } from "./outgoing-request.ts";
import { NotStarted, type OwnerErrors } from "./owner-errors.ts";
import { actorPath, CALLS, MOVED, UNLIKE, PID, SPEAKS, UPGRADE } from "./routes.ts";
import type { PeerAddress } from "./serve-peers.ts";
import type { Signatures } from "./signature.ts";

/** The actors of another process. */
export interface PeerConnection {
  call(kind: string, name: string, method: string, args: readonly Plain[]): Promise<Plain>;
  /** As `ActorRef.fetch`. */
  fetch(kind: string, name: string, request: Request): ReturnType<ActorRef["fetch"]>;
  /** Whether new calls are still taken. */
  isOpen(): boolean;
  /** Calls, requests and WebSockets under way. */
  size(): number;
  closeSockets(code: number, reason: string): void;
  /** Closes the connection: this process ends. Later calls are not started. */
  leave(): void;
}

/** Options of {@link connectToPeer}. */
export interface PeerConnectionOptions {
  readonly address: PeerAddress;
  readonly errors: OwnerErrors;
  readonly upgrade: Upgrade;
  readonly speaks: string;
  readonly log: Log;
  /** See `ServePeersOptions`. */
  readonly signatures?: Signatures | undefined;
  /** See `HeartbeatOptions`. @default 1000 */
  readonly heartbeatMs?: number | undefined;
  /** The owner shuts down, or the connection to it is lost. */
  readonly onLeaving: () => void;
  /** The connection is closed. */
  readonly onLost: () => void;
}

/** Why an owner could not be joined, as the end of a sentence about it; `""` without a reason. */
export interface JoinRefusal {
  readonly because: string;
}

/** No process listens: the owner is ending, or has only just started. */
export const ABSENT: JoinRefusal = { because: "" };
const SILENT: JoinRefusal = { because: ", which does not answer" };

/** An owner has to answer a greeting within this, in ms: it may be busy. */
const GREETING_MS = 5000;
/** Limits on calls under way (or waiting for an owner), and on unsent bytes. Beyond them calls get 503. */
export const MAX_WAITING: number = 20_000;
const MAX_UNSENT = 256 * 1024 * 1024;
/** Connections that are kept for the next request. */
const MAX_KEPT = 64;

/** Connects to a process that lets others call its actors. */
export function connectToPeer(
  options: PeerConnectionOptions,
): Promise<PeerConnection | JoinRefusal> {
  return new Promise((resolve) => {
    const greeting = open(
      options,
      {
        headers: { connection: "upgrade", upgrade: UPGRADE },
        agent: false,
      },
      { method: "GET", path: CALLS, signed: "" },
    );
    const late = setTimeout(() => {
      resolve(SILENT);
      greeting.destroy();
    }, GREETING_MS);
    greeting.once("upgrade", ({ headers }, socket: Socket, head: Buffer) => {
      clearTimeout(late);
      if (head.length > 0) socket.unshift(head);
      resolve(connectionOver(socket, Number(headers[PID]), options));
    });
    greeting.once("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", () => undefined);
      response.once("close", () => {
        clearTimeout(late);
        const text = Buffer.concat(chunks).toString();
        resolve(refusalOf(response.statusCode ?? 0, text, options.speaks));
      });
    });
    greeting.once("error", () => {
      clearTimeout(late);
      resolve(ABSENT);
    });
    greeting.end();
  });
}

function refusalOf(status: number, theirs: string, ours: string): JoinRefusal {
  if (status === MOVED) return ABSENT;
  if (status !== UNLIKE) return { because: `, which answers ${status}` };
  return { because: `, which is of another runtime or version (${theirs}; this is ${ours})` };
}

interface OwnerRequest {
  readonly method: string;
  readonly path: string;
  readonly signed: Uint8Array | "";
}

/** Opens a request to the owner. */
function open(
  { address, signatures, speaks }: PeerConnectionOptions,
  { headers, ...options }: RequestOptions,
  { method, path, signed }: OwnerRequest,
): ClientRequest {
  const where =
    "path" in address
      ? { socketPath: address.path, host: "localhost" }
      : { host: address.host, port: address.port };
  return httpRequest({
    ...where,
    ...options,
    method,
    path,
    headers: {
      ...(headers as Record<string, string>),
      [SPEAKS]: encodeURIComponent(speaks),
      ...signatures?.sign(method, path, signed),
    },
  });
}

interface State {
  readonly options: PeerConnectionOptions;
  /** Keeps the process alive only while something is under way: a script may end without closing anything. */
  readonly socket: Socket;
  readonly agent: Agent;
  readonly calls: Map<number, PromiseWithResolvers<CallOutcome>>;
  readonly outgoing: Set<OutgoingRequest>;
  readonly heartbeat: Heartbeat;
  isOpen: boolean;
  /** Whether this end closes the connection. */
  hasLeft: boolean;
}

function connectionOver(
  socket: Socket,
  pid: number,
  options: PeerConnectionOptions,
): PeerConnection {
  const { errors, log } = options;
  const state: State = {
    options,
    socket,
    agent: new Agent({ keepAlive: true, maxFreeSockets: MAX_KEPT }),
    calls: new Map(),
    outgoing: new Set(),
    heartbeat: heartbeat({
      heartbeatMs: options.heartbeatMs,
      isBusy: () => sizeOf(state) > 0,
      ping: () => {
        toOwner.send({ type: "ping" });
      },
      onUnresponsive: () => {
        log("warn", `${errors.owner} does not answer`, { pid });
        giveUp(state);
      },
      onRecovered: () => {
        log("info", `${errors.owner} answers again`);
      },
    }),
    isOpen: true,
    hasLeft: false,
  };
  const toOwner: Link<ToOwner> = link<ToPeer, ToOwner>(
    { from: socket, to: socket },
    {
      message(message) {
        state.heartbeat.received();
        if (message.type === "leaving") {
          leaving(state);
          toOwner.send({ type: "left" });
        } else if (message.type !== "pong") hear(state, message);
      },
      close() {
        state.heartbeat.stop();
        leaving(state);
        for (const { reject } of state.calls.values())
          reject(state.hasLeft ? errors.cutOff() : errors.ended());
        state.calls.clear();
        state.agent.destroy();
        options.onLost();
      },
    },
  );
  unrefWhenIdle(state);
  return connection(toOwner, state);
}

function leaving(state: State): void {
  if (!state.isOpen) return;
  state.isOpen = false;
  state.options.onLeaving();
}

/**
 * Fails the waiting calls with 503. The unresponsive owner keeps its lock while it lives, so that no process can take
 * over.
 */
function giveUp(state: State): void {
  const { calls, options, outgoing } = state;
  for (const { reject } of calls.values()) reject(options.errors.didNotAnswer());
  calls.clear();
  for (const one of outgoing) one.giveUp();
  unrefWhenIdle(state);
}

function sizeOf({ calls, outgoing }: State): number {
  return calls.size + outgoing.size;
}

function unrefWhenIdle(state: State): void {
  if (sizeOf(state) === 0) state.socket.unref();
}

function hear(state: State, message: Extract<ToPeer, { readonly id: number }>): void {
  const call = state.calls.get(message.id);
  // One that was given up.
  if (call === undefined) return;
  state.calls.delete(message.id);
  unrefWhenIdle(state);
  if (message.type === "returned") call.resolve(message.outcome);
  else call.reject(new NotStarted());
}

function connection(toOwner: Link<ToOwner>, state: State): PeerConnection {
  const { agent, calls, options, outgoing, socket } = state;
  let number = 0;
  const check = (): void => {
    // Nobody would answer, or end the wait.
    if (!state.isOpen || state.hasLeft) throw new NotStarted();
    if (state.heartbeat.isUnresponsive()) throw options.errors.unresponsive();
    if (sizeOf(state) >= MAX_WAITING || toOwner.unsent() > MAX_UNSENT)
      throw options.errors.overloaded();
  };
  return {
    size: () => sizeOf(state),
    isOpen: () => state.isOpen,
    async call(kind, name, method, args) {
      check();
      const id = (number += 1);
      const waiting = Promise.withResolvers<CallOutcome>();
      toOwner.send({ type: "call", id, kind, name, method, args });
      calls.set(id, waiting);
      socket.ref();
      return valueOf(await waiting.promise);
    },
    async fetch(kind, name, request) {
      check();
      const one = outgoingRequest(request, {
        upgrade: options.upgrade,
        errors: options.errors,
        open: (head, asksFirst) =>
          open(
            options,
            { agent, headers: asksFirst ? { expect: "100-continue" } : {} },
            { method: "POST", path: actorPath(kind, name), signed: head },
          ),
        onLeaving: () => {
          leaving(state);
        },
        over: () => {
          outgoing.delete(one);
          unrefWhenIdle(state);
        },
      });
      outgoing.add(one);
      socket.ref();
      return one.response;
    },
    closeSockets(code, reason) {
      for (const one of outgoing) one.closeSocket(code, reason);
    },
    leave: () => {
      state.hasLeft = true;
      toOwner.end();
    },
  };
}
