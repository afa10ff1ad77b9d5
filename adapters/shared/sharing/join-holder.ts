import { connect, type Socket } from "node:net";
import { ApiError } from "../../../core/http/api-error.ts";
import type { ActorRef, Plain } from "../../../core/ports.ts";
import { valueOf, type CallOutcome } from "../crossing.ts";
import type { Upgrade } from "../sockets.ts";
import { readAddress } from "./address.ts";
import { gone, Moved } from "./gone.ts";
import { guestVisit, type GuestVisit } from "./guest-visit.ts";
import { link, type Link } from "./link.ts";
import type { ToGuest, ToHolder } from "./messages.ts";

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
  /** The holder is about to leave, or gone. */
  readonly onLeaving: () => void;
  /** The connection is gone. */
  readonly onLost: () => void;
}

/** Why a directory's holder could not be joined: nobody answers, or it speaks something else. */
export type Refusal = { readonly speaks: string | null };

/** A holder has to answer within this, in ms: it may be busy. */
const GREETING_MS = 5000;
/** Calls under way, or without a holder, above which further ones get 503; bytes that wait for the holder likewise. */
export const MAX_WAITING: number = 20_000;
const MAX_UNSENT = 256 * 1024 * 1024;

/** Connects to the process that holds a data directory. */
export function joinHolder(options: JoinOptions): Promise<Holder | Refusal> {
  const path = readAddress(options.dataDir);
  if (path === null) return Promise.resolve({ speaks: null });
  return new Promise((resolve) => {
    const socket = connect(path);
    const late = setTimeout(() => socket.destroy(), GREETING_MS);
    const guest = newGuest(socket, options, (answer) => {
      clearTimeout(late);
      resolve(answer);
    });
    guest.send({ type: "hello", speaks: options.speaks });
  });
}

interface State {
  /** Keeps the process alive while something is under way, and no longer: a script may end without closing anything. */
  readonly socket: Socket;
  readonly calls: Map<number, PromiseWithResolvers<CallOutcome>>;
  readonly visits: Map<number, GuestVisit>;
  isOpen: boolean;
}

function newGuest(
  socket: Socket,
  options: JoinOptions,
  greeted: (answer: Holder | Refusal) => void,
): Link<ToHolder> {
  const state: State = { socket, calls: new Map(), visits: new Map(), isOpen: false };
  const leaving = (): void => {
    if (!state.isOpen) return;
    state.isOpen = false;
    options.onLeaving();
  };
  const guest: Link<ToHolder> = link<ToGuest, ToHolder>(socket, {
    message(message) {
      if (message.type === "welcome") {
        state.isOpen = true;
        rest(state);
        greeted(holderOver(guest, state, options.upgrade));
      } else if (message.type === "refused") greeted({ speaks: message.speaks });
      else if (message.type === "leaving") {
        leaving();
        guest.send({ type: "left" });
      } else hear(state, message);
    },
    close() {
      greeted({ speaks: null });
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

function rest({ calls, socket, visits }: State): void {
  if (calls.size + visits.size === 0) socket.unref();
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
  const size = (): number => calls.size + visits.size;
  let number = 0;
  const next = (): number => {
    if (size() >= MAX_WAITING || guest.unsent() > MAX_UNSENT) throw overloaded();
    return (number += 1);
  };
  return {
    size,
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

/** What becomes of a call that is one too many. */
export function overloaded(): ApiError {
  return new ApiError("unavailable", {
    message: "Too many calls wait for the process that holds the data directory: try again later",
    headers: { "retry-after": "1" },
  });
}
