import { createServer, type Server, type Socket } from "node:net";
import { ApiError } from "../../../core/http/api-error.ts";
import type { Actors, Log } from "../../../core/ports.ts";
import { outcomeOf, type CallOutcome } from "../crossing.ts";
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
  /** Takes no new call: they are for the successor. */
  leave(): void;
  /** Sends what is still to be sent, and closes. */
  close(): Promise<void>;
}

interface Guest {
  readonly link: Link<ToGuest>;
  readonly socket: Socket;
}

/** A guest has to greet within this, in ms. */
const GREETING_MS = 5000;

/** Lets other processes of this user call the actors of this one. */
export async function serveGuests(options: ServeGuestsOptions): Promise<GuestServer> {
  const address = makeAddress(options.dataDir);
  const guests = new Set<Guest>();
  let isLeaving = false;
  const server = createServer((socket) => {
    const guest = { socket, link: receive(socket, options, () => isLeaving) };
    guests.add(guest);
    socket.once("close", () => guests.delete(guest));
  });
  await listen(server, address.socket);
  // Guests alone keep no process alive.
  server.unref();
  address.publish();
  return {
    leave() {
      isLeaving = true;
      address.remove();
      for (const guest of guests) guest.link.send({ type: "leaving" });
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
  socket: Socket,
  options: ServeGuestsOptions,
  isLeaving: () => boolean,
): Link<ToGuest> {
  const visits = new Map<number, Visit>();
  let isGreeted = false;
  const late = setTimeout(() => socket.destroy(), GREETING_MS);
  const guest: Link<ToGuest> = link<ToHolder, ToGuest>(socket, {
    message(message) {
      if (isGreeted) handle(message);
      else if (message.type !== "hello" || message.speaks !== options.speaks) refuse();
      else {
        isGreeted = true;
        clearTimeout(late);
        guest.send({ type: "welcome" });
      }
    },
    close() {
      clearTimeout(late);
      for (const one of visits.values()) one.lost();
    },
  });
  const refuse = (): void => {
    guest.send({ type: "refused", speaks: options.speaks });
    guest.end();
  };
  const handle = (message: ToHolder): void => {
    if (message.type === "hello") return;
    if (message.type === "abort") visits.get(message.id)?.abort();
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
