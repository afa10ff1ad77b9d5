import { hostname } from "node:os";
import type { ActorNodes, ActorRef } from "../../../core/ports.ts";
import { VERSION } from "../../../core/version.ts";
import type { RemoteUpgrades } from "../../peers/incoming-request.ts";
import {
  localActors,
  type LocalActors,
  type LocalActorsOptions,
} from "../../shared/actors/local-actors.ts";
import { fullText } from "../full-text.ts";
import { openPostgres, type PostgresDatabase } from "../open-postgres.ts";
import { postgresStore, type PostgresStore } from "../postgres-store.ts";
import { clusterSecret } from "./cluster-secret.ts";
import { openCluster, type Cluster } from "./cluster.ts";
import { clusterStatus } from "./cluster-status.ts";
import { detachedCalls } from "./detached-calls.ts";
import { PROTOCOL } from "./protocol.ts";
import { checkCluster, type CheckedSettings, type ClusterSettings } from "./cluster-settings.ts";

export interface PostgresActorsOptions extends Omit<LocalActorsOptions, "homes" | "store"> {
  /** The address of the database, `postgres://…`. */
  readonly database: string;
  readonly cluster?: ClusterSettings | undefined;
  /** Folder for what can be made again. */
  readonly stateDir: string;
}

/** The actors of a database, those of other processes too. */
export interface PostgresActors extends Pick<LocalActors, "close" | "define" | "get"> {
  /** Why actors cannot be called from here at present; null while they can. */
  failure(): string | null;
  /** Resolves when the tables of all kinds are there. Rejects with one line when this version must not work with them. */
  ready(): Promise<void>;
  readonly nodes: ActorNodes;
  /** Closes the connections to the database. */
  release(): Promise<void>;
}

/** Opens a database for the actors of this process. Rejects with one line that says what to do. */
export async function postgresActors(options: PostgresActorsOptions): Promise<PostgresActors> {
  const { database: url, log } = options;
  const settings = checkCluster(options.cluster);
  const db = await openPostgres({ url, log });
  try {
    return await openActors(options, db, settings);
  } catch (error) {
    await db.close();
    throw error;
  }
}

async function openActors(
  options: PostgresActorsOptions,
  db: PostgresDatabase,
  settings: CheckedSettings,
): Promise<PostgresActors> {
  const { log, system, upgrade } = options;
  const upgrades: RemoteUpgrades = new WeakMap();
  const local = fullText(options);
  const own = { ownSlots: () => cluster.ownSlots(), ownNode: () => cluster.id };
  const store = await postgresStore({
    db,
    fullText: local.open,
    system,
    log,
    fenceOf: (kind, name) => cluster.fenceOf(kind, name),
    ...own,
  });
  const get = (kind: string, name: string): ActorRef => cluster.get(kind, name);
  const actors = localActors({
    ...options,
    store,
    upgrade: (request, ...how) => (upgrades.get(request) ?? upgrade)(request, ...how),
    homes: { get, isHere: (kind, name) => cluster.isHere(kind, name) },
  });
  const detached = detachedCalls({ db, store, system, log, ...own, host: actors });
  const services = { db, upgrade, upgrades, log, clock: () => system.now() };
  const cluster: Cluster = await openCluster({
    ...services,
    host: { ...actors, detached: (...call) => detached.of(...call) },
    listen: settings.listen,
    advertise: settings.advertise,
    machine: hostname(),
    version: VERSION,
    speaks: PROTOCOL,
    secret: settings.secret ?? (await clusterSecret(db.sqlOf(""))),
    leaseMs: settings.leaseMs,
  });
  return {
    get,
    define(kind) {
      actors.define(kind);
      detached.define(kind);
      // Not before: another node may call at once, an app defines its kinds in one go, and tables may have to be changed first.
      void joinOnceReady(store, cluster);
    },
    failure: () => failureOf(db) ?? cluster.failure(),
    ready: () => ready(store),
    nodes: nodesOf(cluster, db),
    async close(graceMs) {
      const until = performance.now() + graceMs;
      await Promise.all([detached.stop(), cluster.close(graceMs)]);
      await actors.close(Math.max(0, until - performance.now()));
    },
    async release() {
      await Promise.all([db.close(), local.close()]);
    },
  };
}

function nodesOf({ address, refusal }: Cluster, db: PostgresDatabase): ActorNodes {
  return { own: address, refused: refusal.refused, list: () => clusterStatus(db.sqlOf("")) };
}

async function joinOnceReady(store: PostgresStore, cluster: Cluster): Promise<void> {
  await store.prepared();
  const refusal = store.refusal();
  if (refusal === null) cluster.join();
  else cluster.refusal.refuse(refusal.message);
}

async function ready(store: PostgresStore): Promise<void> {
  await store.prepared();
  const refusal = store.refusal();
  if (refusal !== null) throw new Error(refusal.message);
}

function failureOf(db: Pick<PostgresDatabase, "failure">): string | null {
  const reason = db.failure();
  return reason === null ? null : `The database cannot be used: ${reason}`;
}
