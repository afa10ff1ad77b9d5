import { connect, type Socket } from "node:net";
import type { ActorRef, Log, Plain } from "../../core/ports.ts";
import { valueOf, type CallOutcome } from "../shared/actors/call-outcome.ts";
import type { Upgrade } from "../shared/sockets/sockets.ts";
import { readAddress } from "./address.ts";
import {
  ownerEnded,
  NotStarted,
  overloaded,
  ownerUnresponsive,
  ownerDidNotAnswer,
} from "../peers/owner-errors.ts";
import { outgoingRequest, type OutgoingRequest } from "../peers/outgoing-request.ts";
import { link, type Link } from "../peers/link.ts";
import type { ToPeer, ToOwner } from "../peers/messages.ts";
import { heartbeat, type Heartbeat } from "../peers/heartbeat.ts";

/** The actors of the process that holds the data directory. */
export interface OwnerConnection {
  call(kind: string, name: string, method: string, args: readonly Plain[]): Promise<Plain>;
  /** As `ActorRef.fetch`. */
  fetch(kind: string, name: string, request: Request): ReturnType<ActorRef["fetch"]>;
  /** Whether new calls are still taken. */
  isOpen(): boolean;
  /** Calls, requests and WebSockets under way. */
  size(): number;
  closeSockets(code: number, reason: string): void;
  leave(): void;
}

/** Options of {@link connectToOwner}. */
export interface OwnerConnectionOptions {
  readonly dataDir: string;
  readonly upgrade: Upgrade;
  readonly speaks: string;
  readonly log: Log;
  /** See `HeartbeatOptions`. @default 1000 */
  readonly heartbeatMs?: number | undefined;
  /** The lock owner shuts down, or the connection to it is lost. */
  readonly onLeaving: () => void;
  /** The connection is closed. */
  readonly onLost: () => void;
}

/** Why a directory's lock owner could not be joined, as the end of a sentence about it; `""` without a reason. */
export interface JoinRefusal {
  readonly because: string;
}

/** No process listens: the lock owner is ending, or has only just started. */
export const ABSENT: JoinRefusal = { because: "" };
const SILENT: JoinRefusal = { because: ", which does not answer" };

/** A lock owner has to answer a greeting within this, in ms: it may be busy. */
const GREETING_MS = 5000;
/** Limits on calls under way (or waiting for a lock owner), and on unsent bytes. Beyond them calls get 503. */
export const MAX_WAITING: number = 20_000;
const MAX_UNSENT = 256 * 1024 * 1024;

/** Connects to the process that holds a data directory. */
export function connectToOwner(
  options: OwnerConnectionOptions,
): Promise<OwnerConnection | JoinRefusal> {
  const path = readAddress(options.dataDir);
  if (path === null) return Promise.resolve(ABSENT);
  return new Promise((resolve) => {
    const socket = connect(path);
    const late = setTimeout(() => {
      resolve(SILENT);
      socket.destroy();
    }, GREETING_MS);
    const toOwner = newConnection(socket, options, (answer) => {
      clearTimeout(late);
      resolve(answer);
    });
    toOwner.greet({ type: "hello", speaks: options.speaks });
  });
}

/**
 * Whether a lock owner of the directory listens. A process that has the lock and still finds a listener has locked another
 * file: the listener's own lock file was deleted.
 */
export function isOwnerListening(dataDir: string): Promise<boolean> {
  const path = readAddress(dataDir);
  if (path === null) return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      resolve(true);
      socket.destroy();
    });
    // The error when no process listens any more. An unresponsive lock owner may have a full queue, which is EAGAIN.
    socket.once("error", (error) => {
      resolve("code" in error && error.code === "EAGAIN");
    });
  });
}

interface State {
  /** Keeps the process alive only while something is under way: a script may end without closing anything. */
  readonly socket: Socket;
  readonly calls: Map<number, PromiseWithResolvers<CallOutcome>>;
  readonly outgoing: Map<number, OutgoingRequest>;
  readonly heartbeat: Heartbeat;
  /** The lock owner's process id. */
  pid: number;
  isOpen: boolean;
}

function newConnection(
  socket: Socket,
  options: OwnerConnectionOptions,
  greeted: (answer: OwnerConnection | JoinRefusal) => void,
): Link<ToOwner> {
  const state: State = {
    socket,
    calls: new Map(),
    outgoing: new Map(),
    heartbeat: heartbeat({
      heartbeatMs: options.heartbeatMs,
      isBusy: () => sizeOf(state) > 0,
      ping: () => {
        toOwner.send({ type: "ping" });
      },
      onUnresponsive: () => {
        giveUp(state, options.log);
      },
      onRecovered: () => {
        options.log("info", "The process that holds the data directory answers again");
      },
    }),
    pid: 0,
    isOpen: false,
  };
  const leaving = (): void => {
    if (!state.isOpen) return;
    state.isOpen = false;
    options.onLeaving();
  };
  const toOwner: Link<ToOwner> = link<ToPeer, ToOwner>(socket, {
    message(message) {
      state.heartbeat.received();
      if (message.type === "welcome") {
        state.isOpen = true;
        state.pid = message.pid;
        unrefWhenIdle(state);
        greeted(connectionOver(toOwner, state, options.upgrade));
      } else if (message.type === "refused") greeted(mismatch(message.speaks, options.speaks));
      else if (message.type === "leaving") {
        leaving();
        toOwner.send({ type: "left" });
      } else if (message.type !== "pong") hear(state, message);
    },
    close() {
      state.heartbeat.stop();
      greeted(ABSENT);
      leaving();
      for (const { reject } of state.calls.values()) reject(ownerEnded());
      for (const one of state.outgoing.values()) one.ownerLost();
      state.calls.clear();
      state.outgoing.clear();
      options.onLost();
    },
  });
  return toOwner;
}

function mismatch(theirs: string, ours: string): JoinRefusal {
  return { because: `, which is of another runtime or version (${theirs}; this is ${ours})` };
}

/**
 * Fails the waiting calls with 503. The unresponsive lock owner keeps its lock while it lives, so that no process can take
 * over.
 */
function giveUp(state: State, log: Log): void {
  const { calls, pid, outgoing } = state;
  log("warn", "The process that holds the data directory does not answer", { pid });
  for (const { reject } of calls.values()) reject(ownerDidNotAnswer());
  calls.clear();
  for (const one of outgoing.values()) one.giveUp();
  unrefWhenIdle(state);
}

function sizeOf({ calls, outgoing }: State): number {
  return calls.size + outgoing.size;
}

function unrefWhenIdle(state: State): void {
  if (sizeOf(state) === 0) state.socket.unref();
}

function hear(state: State, message: Extract<ToPeer, { readonly id: number }>): void {
  const { calls, outgoing } = state;
  const call = calls.get(message.id);
  if (call === undefined) outgoing.get(message.id)?.hear(message);
  else {
    calls.delete(message.id);
    unrefWhenIdle(state);
    if (message.type === "returned") call.resolve(message.outcome);
    else call.reject(new NotStarted());
  }
}

function connectionOver(toOwner: Link<ToOwner>, state: State, upgrade: Upgrade): OwnerConnection {
  const { calls, socket, outgoing } = state;
  let number = 0;
  const next = (): number => {
    if (state.heartbeat.isUnresponsive()) throw ownerUnresponsive();
    if (sizeOf(state) >= MAX_WAITING || toOwner.unsent() > MAX_UNSENT) throw overloaded();
    return (number += 1);
  };
  return {
    size: () => sizeOf(state),
    isOpen: () => state.isOpen,
    async call(kind, name, method, args) {
      const id = next();
      const waiting = Promise.withResolvers<CallOutcome>();
      toOwner.send({ type: "call", id, kind, name, method, args });
      calls.set(id, waiting);
      socket.ref();
      return valueOf(await waiting.promise);
    },
    async fetch(kind, name, request) {
      const id = next();
      const over = (): void => {
        if (outgoing.delete(id)) unrefWhenIdle(state);
      };
      const { send, unsent } = toOwner;
      const sent = outgoingRequest(request, { id, kind, name, upgrade, over, send, unsent });
      outgoing.set(id, sent);
      socket.ref();
      return sent.response;
    },
    closeSockets(code, reason) {
      for (const one of outgoing.values()) one.closeSocket(code, reason);
    },
    leave: () => {
      toOwner.end();
    },
  };
}
