import { createServer, type Server, type Socket } from "node:net";
import { ApiError } from "../../core/http/api-error.ts";
import type { Actors, Log } from "../../core/ports.ts";
import { outcomeOf, type CallOutcome } from "../shared/actors/crossing.ts";
import { makeAddress } from "./address.ts";
import { link, type Link } from "./link.ts";
import type { ToGuest, ToHolder } from "./messages.ts";
import { visit, type RemoteUpgrades, type Visit } from "./visit.ts";

/** What {@link serveGuests} needs. */
export interface ServeGuestsOptions {
  readonly dataDir: string;
  readonly actors: Pick<Actors, "get">;
  readonly upgrades: RemoteUpgrades;
  readonly log: Log;
  /** What both ends have to agree on: runtime and version. */
  readonly speaks: string;
}

/** The door for the other processes of a data directory. */
export interface GuestServer {
  /** Takes no new call, as they are for the successor, and waits so many ms for answers under way. */
  leave(withinMs: number): Promise<void>;
  /** Sends what is still to be sent, and closes. */
  close(): Promise<void>;
}

interface Guest {
  readonly socket: Socket;
  readonly visits: Map<number, Visit>;
  /** Whether it calls no more. */
  hasLeft: boolean;
}

interface LinkedGuest extends Guest {
  readonly link: Link<ToGuest>;
}

/** A guest has to greet within this, in ms. */
const GREETING_MS = 5000;

/** Lets other processes of this user call the actors of this one. */
export async function serveGuests(options: ServeGuestsOptions): Promise<GuestServer> {
  const address = makeAddress(options.dataDir);
  const guests = new Set<LinkedGuest>();
  let isLeaving = false;
  const server = createServer((socket) => {
    const guest: Guest = { socket, visits: new Map(), hasLeft: false };
    const linked = Object.assign(guest, { link: receive(guest, options, () => isLeaving) });
    guests.add(linked);
    // Guests alone keep no process alive, and neither does the door.
    socket.unref();
    socket.once("close", () => guests.delete(linked));
  });
  try {
    await listen(server, address.socket);
    address.publish();
  } catch (error) {
    server.close();
    address.remove();
    throw error;
  }
  server.unref();
  return {
    async leave(withinMs) {
      isLeaving = true;
      address.remove();
      for (const guest of guests) guest.link.send({ type: "leaving" });
      const until = performance.now() + withinMs;
      while ([...guests].some(isBusy) && performance.now() < until)
        await new Promise((resolve) => setTimeout(resolve, 5));
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const guest of guests) guest.link.end();
      const patience = setTimeout(() => {
        for (const guest of guests) guest.socket.destroy();
      }, 1000);
      await closed;
      clearTimeout(patience);
    },
  };
}

/** Whether calls of it are on their way, or answers are due that have an end. */
function isBusy({ hasLeft, visits }: Guest): boolean {
  return !hasLeft || [...visits.values()].some((one) => !one.isSocket());
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** Serves one guest. */
function receive(
  state: Guest,
  options: ServeGuestsOptions,
  isLeaving: () => boolean,
): Link<ToGuest> {
  const { socket, visits } = state;
  let isGreeted = false;
  const late = setTimeout(() => socket.destroy(), GREETING_MS);
  const guest: Link<ToGuest> = link<ToHolder, ToGuest>(socket, {
    message(message) {
      if (isGreeted) handle(message);
      // Found just before its address was gone: it looks for the next one.
      else if (isLeaving()) guest.end();
      else if (message.type !== "hello" || message.speaks !== options.speaks) refuse();
      else {
        isGreeted = true;
        clearTimeout(late);
        guest.send({ type: "welcome", pid: process.pid });
      }
    },
    close() {
      clearTimeout(late);
      for (const one of visits.values()) one.lost();
    },
  });
  const refuse = (): void => {
    guest.greet({ type: "refused", speaks: options.speaks });
    guest.end();
  };
  const handle = (message: ToHolder): void => {
    if (message.type === "hello") return;
    if (message.type === "left") state.hasLeft = true;
    else if (message.type === "ping") guest.send({ type: "pong" });
    else if (message.type === "abort") visits.get(message.id)?.abort();
    else if (message.type !== "call" && message.type !== "fetch")
      visits.get(message.id)?.hear(message);
    else if (isLeaving()) guest.send({ type: "moved", id: message.id });
    else if (message.type === "call") void call(message, options, guest);
    else {
      const { id } = message;
      const over = (): void => void visits.delete(id);
      visits.set(id, visit(message, { ...options, over, send: guest.send }));
    }
  };
  return guest;
}

async function call(
  { id, kind, name, method, args }: Extract<ToHolder, { readonly type: "call" }>,
  { actors, log }: ServeGuestsOptions,
  guest: Link<ToGuest>,
): Promise<void> {
  const work = () => actors.get(kind, name).call(method, ...args);
  const outcome = await outcomeOf(work, log, `${kind}.${method}`);
  try {
    guest.send({ type: "returned", id, outcome });
  } catch {
    guest.send({ type: "returned", id, outcome: uncloneable(kind, method) });
  }
}

function uncloneable(kind: string, method: string): CallOutcome {
  const message = `"${kind}.${method}" returned what cannot cross to another process`;
  return { thrown: { api: new ApiError("internal", { message }).toData() } };
}
