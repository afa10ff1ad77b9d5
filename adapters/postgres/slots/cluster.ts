import type { ActorRef, Log } from "../../../core/ports.ts";
import { servePeers, type PeerServer } from "../../peers/serve-peers.ts";
import { signatures } from "../../peers/signature.ts";
import type { RemoteUpgrades } from "../../peers/incoming-request.ts";
import type { Upgrade } from "../../shared/sockets/sockets.ts";
import type { PostgresDatabase } from "../open-postgres.ts";
import { createLeaseTables, leaseStore } from "./lease-store.ts";
import { openLeases, type Leases } from "./leases.ts";
import { peerNodes } from "./peer-nodes.ts";
import { routedActors } from "./routed-actors.ts";
import { slotOf } from "./slot-of.ts";
import type { Fence } from "../transaction.ts";

/** The actors that this node has at present. */
export interface SlotHost {
  readonly get: (kind: string, name: string) => ActorRef;
  /** Drops the instances of actors that are elsewhere now; their WebSockets close with 1012. */
  drop(isGone: (kind: string, name: string) => boolean): void;
}

/** Options of {@link joinCluster}. */
export interface ClusterOptions {
  readonly db: Pick<PostgresDatabase, "session" | "sqlOf">;
  readonly host: SlotHost;
  /** Where this node listens for others; port 0 chooses one. */
  readonly listen: { readonly host: string; readonly port: number };
  /** The host by which others call this node. @default that of `listen` */
  readonly advertise?: string | undefined;
  readonly version: string;
  /** The properties on which nodes have to agree to call each other. */
  readonly speaks: string;
  /** The secret of the cluster. */
  readonly secret: string;
  readonly upgrade: Upgrade;
  readonly upgrades: RemoteUpgrades;
  readonly log: Log;
  /** How long a node that does not answer keeps its actors, in ms. @default 10000 */
  readonly leaseMs?: number | undefined;
}

/** A node's place in the cluster. */
export interface Cluster {
  readonly id: string;
  readonly get: (kind: string, name: string) => ActorRef;
  /** Returns what the batches of an actor check. */
  fenceOf(kind: string, name: string): Fence;
  /** Hands the actors over and takes no calls any more. */
  close(graceMs: number): Promise<void>;
}

const LEASE_MS = 10_000;

/** Joins the nodes that share a database: each has the actors of some slots, and calls others where they are. */
export async function joinCluster(options: ClusterOptions): Promise<Cluster> {
  const { db, host, leaseMs = LEASE_MS, listen, log, version } = options;
  await db.session(createLeaseTables);
  const id = crypto.randomUUID();
  const opened: { leases?: Leases } = {};
  const leases = (): Leases => {
    if (opened.leases === undefined) throw new Error("The cluster is not joined yet");
    return opened.leases;
  };
  const signed = signatures(options.secret);
  const nodes = peerNodes({ ...options, signatures: signed, onChange: () => routed.retry() });
  const routed = routedActors({ leases, nodes, host: host.get });
  const server: PeerServer = await servePeers({
    ...options,
    address: listen,
    actors: { get: routed.local },
    isHere: (kind, name) => opened.leases !== undefined && routed.isHere(kind, name),
    signatures: signed,
  });
  const address = `${options.advertise ?? listen.host}:${server.port ?? listen.port}`;
  const join = (): Promise<Leases> =>
    openLeases({
      node: { id, address, version },
      store: leaseStore(db.sqlOf(""), { id, address, version }, leaseMs),
      log,
      leaseMs,
      async drop(slots, graceMs) {
        await routed.settled(slots, graceMs);
        host.drop((kind, name) => slots.has(slotOf(kind, name)));
      },
      onChange: () => {
        if (opened.leases !== undefined) routed.retry();
      },
    });
  try {
    opened.leases = await join();
  } catch (error) {
    await server.close();
    throw error;
  }
  return {
    id,
    get: routed.get,
    fenceOf: (kind, name) => leases().fenceOf(slotOf(kind, name)),
    async close(graceMs) {
      const until = performance.now() + graceMs;
      nodes.closeSockets(1001, "The server is shutting down");
      await leases().close(graceMs);
      await server.leave(Math.max(0, until - performance.now()));
      while (nodes.size() > 0 && performance.now() < until)
        await new Promise((resolve) => setTimeout(resolve, 5));
      nodes.close();
      await server.close();
    },
  };
}
