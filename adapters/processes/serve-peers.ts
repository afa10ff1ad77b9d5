import { createServer, type Server, type Socket } from "node:net";
import { ApiError } from "../../core/http/api-error.ts";
import type { Actors, Log } from "../../core/ports.ts";
import { settledCall, type CallOutcome } from "../shared/actors/call-outcome.ts";
import { makeAddress } from "./address.ts";
import { link, type Link } from "../peers/link.ts";
import type { ToPeer, ToOwner } from "../peers/messages.ts";
import {
  incomingRequest,
  type RemoteUpgrades,
  type IncomingRequest,
} from "../peers/incoming-request.ts";

/** Options of {@link servePeers}. */
export interface ServePeersOptions {
  readonly dataDir: string;
  readonly actors: Pick<Actors, "get">;
  readonly upgrades: RemoteUpgrades;
  readonly log: Log;
  /** The versions on which both ends have to agree: runtime and causey. */
  readonly speaks: string;
}

/** The listener for the other processes of a data directory. */
export interface PeerServer {
  /** Takes no new calls (they go to the next lock owner) and waits so many ms for answers under way. */
  leave(withinMs: number): Promise<void>;
  /** Sends what is queued, and closes. */
  close(): Promise<void>;
}

interface Peer {
  readonly socket: Socket;
  readonly incoming: Map<number, IncomingRequest>;
  /** Whether it makes no more calls. */
  hasLeft: boolean;
}

interface LinkedPeer extends Peer {
  readonly link: Link<ToPeer>;
}

/** A peer has to greet within this, in ms. */
const GREETING_MS = 5000;

/** Lets other processes of this user call the actors of this one. */
export async function servePeers(options: ServePeersOptions): Promise<PeerServer> {
  const address = makeAddress(options.dataDir);
  const peers = new Set<LinkedPeer>();
  let isLeaving = false;
  const server = createServer((socket) => {
    const peer: Peer = { socket, incoming: new Map(), hasLeft: false };
    const linked = Object.assign(peer, { link: receive(peer, options, () => isLeaving) });
    peers.add(linked);
    // Neither peers nor the listener keep the process alive.
    socket.unref();
    socket.once("close", () => peers.delete(linked));
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
      for (const peer of peers) peer.link.send({ type: "leaving" });
      const until = performance.now() + withinMs;
      while ([...peers].some(isBusy) && performance.now() < until)
        await new Promise((resolve) => setTimeout(resolve, 5));
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const peer of peers) peer.link.end();
      const patience = setTimeout(() => {
        for (const peer of peers) peer.socket.destroy();
      }, 1000);
      await closed;
      clearTimeout(patience);
    },
  };
}

/** Whether its calls may still arrive, or answers other than WebSockets are under way. */
function isBusy({ hasLeft, incoming }: Peer): boolean {
  return !hasLeft || [...incoming.values()].some((one) => !one.isSocket());
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

/** Serves one peer. */
function receive(state: Peer, options: ServePeersOptions, isLeaving: () => boolean): Link<ToPeer> {
  const { socket, incoming } = state;
  let isGreeted = false;
  const late = setTimeout(() => socket.destroy(), GREETING_MS);
  const toPeer: Link<ToPeer> = link<ToOwner, ToPeer>(socket, {
    message(message) {
      if (isGreeted) handle(message);
      // The peer found the address just before it was removed: it will look for the next lock owner.
      else if (isLeaving()) toPeer.end();
      else if (message.type !== "hello" || message.speaks !== options.speaks) refuse();
      else {
        isGreeted = true;
        clearTimeout(late);
        toPeer.send({ type: "welcome", pid: process.pid });
      }
    },
    close() {
      clearTimeout(late);
      for (const one of incoming.values()) one.peerLost();
    },
  });
  const refuse = (): void => {
    toPeer.greet({ type: "refused", speaks: options.speaks });
    toPeer.end();
  };
  const handle = (message: ToOwner): void => {
    if (message.type === "hello") return;
    if (message.type === "left") state.hasLeft = true;
    else if (message.type === "ping") toPeer.send({ type: "pong" });
    else if (message.type === "abort") incoming.get(message.id)?.abort();
    else if (message.type !== "call" && message.type !== "fetch")
      incoming.get(message.id)?.hear(message);
    else if (isLeaving()) toPeer.send({ type: "moved", id: message.id });
    else if (message.type === "call") void call(message, options, toPeer);
    else {
      const { id } = message;
      const over = (): void => void incoming.delete(id);
      incoming.set(id, incomingRequest(message, { ...options, over, send: toPeer.send }));
    }
  };
  return toPeer;
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
    toPeer.send({ type: "returned", id, outcome: uncloneable(kind, method) });
  }
}

function uncloneable(kind: string, method: string): CallOutcome {
  const message = `"${kind}.${method}" returned what cannot cross to another process`;
  return { thrown: { api: new ApiError("internal", { message }).toData() } };
}
