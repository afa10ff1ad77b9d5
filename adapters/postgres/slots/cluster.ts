import type { ActorRef, Log } from "../../../core/ports.ts";
import { servePeers, type PeerServer } from "../../peers/serve-peers.ts";
import { signatures } from "../../peers/signature.ts";
import type { RemoteUpgrades } from "../../peers/incoming-request.ts";
import type { ActorFilter } from "../../shared/actors/actor-directory.ts";
import type { Upgrade } from "../../shared/sockets/sockets.ts";
import type { PostgresDatabase } from "../open-postgres.ts";
import { databaseTime } from "./database-time.ts";
import { leaseStore } from "./lease-store.ts";
import { openLeases, type Leases, type LeasesOptions } from "./leases.ts";
import { nodeRefusal, type NodeRefusal } from "./node-refusal.ts";
import { clockWarning, loopbackWarning } from "./node-warnings.ts";
import { peerNodes, type PeerNodes } from "./peer-nodes.ts";
import { routedActors, type RoutedActors, type RoutedActorsOptions } from "./routed-actors.ts";
import { slotOf } from "../slot-of.ts";
import type { Fence } from "../transaction.ts";

/** The actors that this node has at present. */
export interface SlotHost {
  readonly here: (kind: string, name: string) => ActorRef;
  /** Whether anything runs or waits at some actors. */
  readonly holds: (isMeant: ActorFilter) => boolean;
  /** Drops the instances of actors that are elsewhere now, and closes their WebSockets. */
  readonly drop: (isGone: ActorFilter, code: number, reason: string) => void;
  /** Looks for due alarms: this node has more actors, or may look again. */
  readonly rescan: () => void;
  /** See `RoutedActorsOptions`. */
  readonly detached: RoutedActorsOptions["detached"];
}

export interface ClusterOptions {
  readonly db: Pick<PostgresDatabase, "failure" | "sqlOf">;
  readonly host: SlotHost;
  /** The address at which this node listens for others; port 0 chooses one. */
  readonly listen: { readonly host: string; readonly port: number };
  /** The host by which others call this node. @default that of `listen` */
  readonly advertise?: string | undefined;
  /** The name of this machine. */
  readonly machine: string;
  readonly version: string;
  /** The properties on which nodes have to agree to call each other. */
  readonly speaks: string;
  /** The secret of the cluster. */
  readonly secret: string;
  readonly upgrade: Upgrade;
  readonly upgrades: RemoteUpgrades;
  readonly log: Log;
  /** The clock of this machine, in ms since 1970. @default Date.now */
  readonly clock?: (() => number) | undefined;
  /** How long a node that does not answer keeps its actors, in ms. @default 10000 */
  readonly leaseMs?: number | undefined;
}

/** A node's place in the cluster. */
export interface Cluster {
  readonly id: string;
  /** The address at which the other nodes call this one. */
  readonly address: string;
  /** Takes its share of the actors from now on; calls wait until then. */
  join(): void;
  /** Whether it may work with the tables: by its version as it starts, and whenever its lease has to begin again. */
  readonly refusal: Pick<NodeRefusal, "refuse" | "refused">;
  readonly get: (kind: string, name: string) => ActorRef;
  readonly isHere: (kind: string, name: string) => boolean;
  /** Returns the slots whose actors are here. */
  ownSlots(): readonly number[];
  /** Returns what the batches of an actor check. */
  fenceOf(kind: string, name: string): Fence;
  /** Why this node has no actors although it has joined; null while it may have some. */
  failure(): string | null;
  /** Hands the actors over and takes no calls any more. */
  close(graceMs: number): Promise<void>;
}

const LEASE_MS = 10_000;
const UNRENEWED = "The lease of this node cannot be renewed";
/** Code and reason that close a WebSocket whose actor has moved to another node: the client connects again. */
const MOVED = [1012, "This object is at another node now: connect again"] as const;
const ENDS = [1001, "The server is shutting down"] as const;
/** Holds for no batch. */
const NO_FENCE: Fence = { slot: -1, epoch: -1 };

/**
 * Opens a node among those that share a database: each has the actors of some slots, and calls others where they are.
 * Rejects when it cannot listen.
 */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const { db, host, leaseMs = LEASE_MS, listen, log, machine, version } = options;
  const state: { leases?: Leases; joining?: Promise<void>; isClosing: boolean } = {
    isClosing: false,
  };
  const time = databaseTime(options.clock ?? Date.now, clockWarning(log));
  const signed = signatures(options.secret, () => time.now());
  const nodes = peerNodes({ ...options, signatures: signed, onChange: () => routed.retry() });
  const routed = routedActors({
    ...host,
    leases: () => state.leases,
    failure: () => db.failure() ?? refusal.failure(),
    nodes,
  });
  const server: PeerServer = await servePeers({
    ...options,
    address: listen,
    actors: { get: host.here },
    isHere: routed.isHere,
    signatures: signed,
  });
  const address = addressOf(options.advertise ?? listen.host, server.port ?? listen.port);
  const node = { id: crypto.randomUUID(), address, version, machine };
  const changed = (hasMore: boolean): void => {
    if (state.leases === undefined) return;
    routed.retry();
    if (hasMore) host.rescan();
  };
  const store = leaseStore(db.sqlOf(""), node, leaseMs, time);
  const refusal = nodeRefusal(store);
  const drop = dropping(host, () => (state.isClosing ? ENDS : MOVED));
  const onNode = loopbackWarning(node, log);
  const onRefused = (reason: string): void => refusal.refuse(reason);
  const own = { node, store, log, leaseMs, drop, onChange: changed, onNode, onRefused };
  const join = async (): Promise<void> => {
    state.leases = await openLeases(own);
    changed(true);
  };
  return {
    ...node,
    join: () => {
      if (!state.isClosing) state.joining ??= join();
    },
    refusal,
    get: routed.get,
    isHere: routed.isHere,
    ownSlots: () => state.leases?.own() ?? [],
    fenceOf: (kind, name) => state.leases?.fenceOf(slotOf(kind, name)) ?? NO_FENCE,
    failure: () => refusal.failure() ?? (state.leases?.isValid() === false ? UNRENEWED : null),
    async close(graceMs) {
      const until = performance.now() + graceMs;
      state.isClosing = true;
      nodes.closeSockets(...ENDS);
      await Promise.all([state.joining, refusal.settled()]);
      // Without another node, calls that wait for one find none.
      if ((await state.leases?.close(graceMs)) !== true) routed.close();
      await end(server, { nodes, routed }, until);
    },
  };
}

/** Drops the actors of slots once what runs at them is over, for the reason that holds then. */
function dropping(
  host: Pick<SlotHost, "drop" | "holds">,
  closing: () => readonly [number, string],
): LeasesOptions["drop"] {
  return async (slots, graceMs) => {
    const isMeant = (kind: string, name: string): boolean => slots.has(slotOf(kind, name));
    await settled(() => host.holds(isMeant), graceMs);
    host.drop(isMeant, ...closing());
  };
}

/** Lets calls in both directions end until a time of `performance.now()`, and closes all connections. */
async function end(
  server: PeerServer,
  { nodes, routed }: { readonly nodes: PeerNodes; readonly routed: RoutedActors },
  until: number,
): Promise<void> {
  await server.leave(Math.max(0, until - performance.now()));
  await settled(() => nodes.size() + routed.size() > 0, until - performance.now());
  routed.close();
  nodes.close();
  await server.close();
}

/** Waits until something is over, but for no longer than so many ms. */
async function settled(isUnderWay: () => boolean, graceMs: number): Promise<void> {
  const until = performance.now() + graceMs;
  while (isUnderWay() && performance.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 5));
}

function addressOf(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
