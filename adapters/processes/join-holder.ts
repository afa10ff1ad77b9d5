import { connect, type Socket } from "node:net";
import type { ActorRef, Log, Plain } from "../../core/ports.ts";
import { valueOf, type CallOutcome } from "../shared/actors/crossing.ts";
import type { Upgrade } from "../shared/sockets/sockets.ts";
import { readAddress } from "./address.ts";
import { gone, Moved, overloaded, still, unanswered } from "./gone.ts";
import { guestVisit, type GuestVisit } from "./guest-visit.ts";
import { link, type Link } from "./link.ts";
import type { ToGuest, ToHolder } from "./messages.ts";
import { pulse, type Pulse } from "./pulse.ts";

/** The actors of the process that holds the data directory. */
export interface Holder {
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

/** What {@link joinHolder} needs. */
export interface JoinOptions {
  readonly dataDir: string;
  readonly upgrade: Upgrade;
  readonly speaks: string;
  readonly log: Log;
  /** See `PulseOptions`. @default 1000 */
  readonly beatMs?: number | undefined;
  /** The holder is about to leave, or gone. */
  readonly onLeaving: () => void;
  /** The connection is gone. */
  readonly onLost: () => void;
}

/** Why a directory's holder could not be joined, as the end of a sentence about it: `""` when there is nothing to say. */
export interface Refusal {
  readonly because: string;
}

/** Nobody is there to be asked: it ends, or has only begun. */
export const ABSENT: Refusal = { because: "" };
const SILENT: Refusal = { because: ", which does not answer" };

/** A holder has to answer within this, in ms: it may be busy. */
const GREETING_MS = 5000;
/** Calls under way, or without a holder, above which further ones get 503; bytes that wait for the holder likewise. */
export const MAX_WAITING: number = 20_000;
const MAX_UNSENT = 256 * 1024 * 1024;

/** Connects to the process that holds a data directory. */
export function joinHolder(options: JoinOptions): Promise<Holder | Refusal> {
  const path = readAddress(options.dataDir);
  if (path === null) return Promise.resolve(ABSENT);
  return new Promise((resolve) => {
    const socket = connect(path);
    const late = setTimeout(() => {
      resolve(SILENT);
      socket.destroy();
    }, GREETING_MS);
    const guest = newGuest(socket, options, (answer) => {
      clearTimeout(late);
      resolve(answer);
    });
    guest.greet({ type: "hello", speaks: options.speaks });
  });
}

/**
 * Whether somebody listens as the holder of a directory. Who has the lock and still finds one has another file than that
 * process: its own was deleted.
 */
export function isHeld(dataDir: string): Promise<boolean> {
  const path = readAddress(dataDir);
  if (path === null) return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      resolve(true);
      socket.destroy();
    });
    // Nobody has listened there since the last one was killed; one that stands still may have a full queue.
    socket.once("error", (error) => {
      resolve("code" in error && error.code === "EAGAIN");
    });
  });
}

interface State {
  /** Keeps the process alive while something is under way, and no longer: a script may end without closing anything. */
  readonly socket: Socket;
  readonly calls: Map<number, PromiseWithResolvers<CallOutcome>>;
  readonly visits: Map<number, GuestVisit>;
  readonly pulse: Pulse;
  /** The holder's. */
  pid: number;
  isOpen: boolean;
}

function newGuest(
  socket: Socket,
  options: JoinOptions,
  greeted: (answer: Holder | Refusal) => void,
): Link<ToHolder> {
  const state: State = {
    socket,
    calls: new Map(),
    visits: new Map(),
    pulse: pulse({
      beatMs: options.beatMs,
      isBusy: () => sizeOf(state) > 0,
      ask: () => {
        guest.send({ type: "ping" });
      },
      onStill: () => {
        giveUp(state, options.log);
      },
      onBack: () => {
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
  const guest: Link<ToHolder> = link<ToGuest, ToHolder>(socket, {
    message(message) {
      state.pulse.heard();
      if (message.type === "welcome") {
        state.isOpen = true;
        state.pid = message.pid;
        rest(state);
        greeted(holderOver(guest, state, options.upgrade));
      } else if (message.type === "refused") greeted(refusal(message.speaks, options.speaks));
      else if (message.type === "leaving") {
        leaving();
        guest.send({ type: "left" });
      } else if (message.type !== "pong") hear(state, message);
    },
    close() {
      state.pulse.stop();
      greeted(ABSENT);
      leaving();
      for (const { reject } of state.calls.values()) reject(gone());
      for (const visit of state.visits.values()) visit.lost();
      state.calls.clear();
      state.visits.clear();
      options.onLost();
    },
  });
  return guest;
}

function refusal(theirs: string, ours: string): Refusal {
  return { because: `, which is of another runtime or version (${theirs}; this is ${ours})` };
}

/** The holder stands still. Its lock is its own as long as it lives, so nobody takes over: what waits is answered. */
function giveUp(state: State, log: Log): void {
  const { calls, pid, visits } = state;
  log("warn", "The process that holds the data directory does not answer", { pid });
  for (const { reject } of calls.values()) reject(unanswered());
  calls.clear();
  for (const visit of visits.values()) visit.giveUp();
  rest(state);
}

function sizeOf({ calls, visits }: State): number {
  return calls.size + visits.size;
}

function rest(state: State): void {
  if (sizeOf(state) === 0) state.socket.unref();
}

function hear(state: State, message: Extract<ToGuest, { readonly id: number }>): void {
  const { calls, visits } = state;
  const call = calls.get(message.id);
  if (call === undefined) visits.get(message.id)?.hear(message);
  else {
    calls.delete(message.id);
    rest(state);
    if (message.type === "returned") call.resolve(message.outcome);
    else call.reject(new Moved());
  }
}

function holderOver(guest: Link<ToHolder>, state: State, upgrade: Upgrade): Holder {
  const { calls, socket, visits } = state;
  let number = 0;
  const next = (): number => {
    if (state.pulse.isStill()) throw still();
    if (sizeOf(state) >= MAX_WAITING || guest.unsent() > MAX_UNSENT) throw overloaded();
    return (number += 1);
  };
  return {
    size: () => sizeOf(state),
    isOpen: () => state.isOpen,
    async call(kind, name, method, args) {
      const id = next();
      const waiting = Promise.withResolvers<CallOutcome>();
      guest.send({ type: "call", id, kind, name, method, args });
      calls.set(id, waiting);
      socket.ref();
      return valueOf(await waiting.promise);
    },
    async fetch(kind, name, request) {
      const id = next();
      const over = (): void => {
        if (visits.delete(id)) rest(state);
      };
      const { send, unsent } = guest;
      const visit = guestVisit(request, { id, kind, name, upgrade, over, send, unsent });
      visits.set(id, visit);
      socket.ref();
      return visit.response;
    },
    closeSockets(code, reason) {
      for (const visit of visits.values()) visit.closeSocket(code, reason);
    },
    leave: () => {
      guest.end();
    },
  };
}
