import type { ActorRef, Platform, SqlRow } from "../../ports.ts";
import { accountActor, type GatewayPage } from "./account-actor.ts";
import type { SpendDecision, SpendTicket } from "../observe/spend/spend-ledger.ts";
import type { SpendFacts } from "../observe/spend/spend-rules.ts";
import { type Entrance, gatewayActor } from "./gateway-actor.ts";
import type { LogPage, LogPatch } from "../observe/log/gateway-log.ts";
import {
  type DeclaredGateway,
  declaredGateway,
  type DeclaredGateways,
  declaredIds,
  withDeclared,
} from "../settings/declared-gateways.ts";
import { actorName, type GatewayName } from "../settings/gateway-name.ts";
import type { LogQuery } from "../observe/log/log-filters.ts";
import type { LogRow } from "../call/ended-attempt.ts";
import type { LogSummary } from "../observe/log/log-summary.ts";
import type { TailPage } from "../observe/log/log-tail.ts";
import type { SealedReply } from "../answer/cache/reply-shelf.ts";
import { changingPrices, PRICES } from "../prices/account-prices.ts";
import { recordStore } from "../records/records.ts";
import {
  type GatewayChanges,
  type GatewaySettings,
  initialSettings,
} from "../settings/settings.ts";

/** The gateways of all accounts, behind typed calls: the one place that speaks to their actors. */
export interface GatewayStore {
  /** The settings, or null when there is no such gateway. */
  settings(name: GatewayName): Promise<GatewaySettings | null>;
  /** The settings, and one request counted unless its token does not open the gateway (`isOpen`). */
  enter(name: GatewayName, isOpen: boolean): Promise<Entrance>;
  /** Makes the gateway with its initial settings unless it is there. */
  open(name: GatewayName): Promise<GatewaySettings>;
  /** Makes a gateway; throws `conflict` when there is one of its id. */
  create(account: string, settings: GatewaySettings): Promise<GatewaySettings>;
  /** The settings afterwards, or null when there is no such gateway. */
  update(name: GatewayName, changes: GatewayChanges): Promise<GatewaySettings | null>;
  /** Deletes a gateway with everything of it; resolves to its settings, or null when there was none. */
  remove(name: GatewayName): Promise<GatewaySettings | null>;
  /** An account's gateways whose id contains `search`, by id. */
  list(account: string, search: string, offset: number, limit: number): Promise<GatewayPage>;
  /**
   * Runs a change of an account's prices; every gateway of the account uses what is stored afterwards. A crash on the way
   * leaves gateways that read the prices for every request, until the next change.
   */
  changePrices<T>(account: string, change: () => Promise<T>): Promise<T>;
  /** Asks for leave to spend, see `SpendLedger`. */
  spendAdmit(name: GatewayName, facts: SpendFacts, estimate: number): Promise<SpendDecision>;
  /** Enters what was spent, see `SpendLedger`. */
  spendSettle(name: GatewayName, ticket: SpendTicket, amount: number): Promise<void>;
  /** A sealed answer, see `ReplyShelf`. */
  findReply(name: GatewayName, id: string): Promise<SealedReply | null>;
  /** Keeps a sealed answer among at most `capacity` bytes of them, see `ReplyShelf`. */
  keepReply(name: GatewayName, id: string, reply: SealedReply, capacity: number): Promise<void>;
  /** Stores log rows of the gateway with this actor's name. */
  append(actor: string, rows: readonly LogRow[]): Promise<void>;
  listLogs(name: GatewayName, query: LogQuery, offset: number, limit: number): Promise<LogPage>;
  getLog(name: GatewayName, id: string): Promise<SqlRow | null>;
  /** Resolves to whether there is such a row. */
  patchLog(name: GatewayName, id: string, patch: LogPatch): Promise<boolean>;
  /** Deletes what the query finds, at most `limit` rows; resolves to their number. */
  deleteLogs(name: GatewayName, query: LogQuery, limit: number): Promise<number>;
  /** Figures over the rows that any of the queries finds. */
  summariseLogs(name: GatewayName, queries: readonly LogQuery[]): Promise<LogSummary>;
  /** Rows stored after a position of the live tail (-1 = from now on), see `LogTail`. */
  nextLogs(name: GatewayName, position: number, query: LogQuery, waitMs: number): Promise<TailPage>;
}

/** Gateways of an account, of which no more are told of its prices. */
const MOST = 1_000_000;
/** Gateways that are told at once that prices have changed. */
const MARKED = 50;

/** What the store works with. */
export interface StoreOptions extends DeclaredGateways {
  readonly platform: Platform;
}

/** Registers the actors and returns the typed calls. */
export function gatewayStore(options: StoreOptions): GatewayStore {
  const { actors, system } = options.platform;
  actors.define(gatewayActor);
  actors.define(accountActor);
  const of = (name: GatewayName): ActorRef => actors.get(gatewayActor.name, actorName(name));
  const index = (account: string): ActorRef => actors.get(accountActor.name, account);
  const declared = (name: GatewayName): DeclaredGateway | undefined =>
    declaredGateway(name, options);
  /** The gateway is written first and listed second: a crash between leaves no phantom in the list. */
  const write = async (method: string, account: string, settings: GatewaySettings) => {
    const written = (await of({ account, gateway: settings.id }).call(
      method,
      settings,
    )) as GatewaySettings;
    await index(account).call("put", written);
    // Looked for behind the listing: whoever changes a price after this finds the gateway there.
    const priced = await recordStore(options.platform).ofAccount(account).group("price", PRICES);
    if (priced.length > 0)
      await of({ account, gateway: settings.id }).call("markPrices", system.id(), "");
    return written;
  };
  const open = async (name: GatewayName): Promise<GatewaySettings> => {
    const authentication = declared(name)?.authentication ?? true;
    return write("open", name.account, initialSettings(name.gateway, system.now(), authentication));
  };
  const settings = async (name: GatewayName): Promise<GatewaySettings | null> => {
    const declaration = declared(name);
    const ask = (): Promise<GatewaySettings | null> => storedSettings(of(name), declaration);
    const found = (await ask()) ?? (declaration === undefined ? null : await open(name).then(ask));
    return found === null || declaration === undefined ? found : withDeclared(found, declaration);
  };
  const enter = (name: GatewayName, isOpen: boolean): Promise<Entrance> =>
    enterGateway(of(name), isOpen, declared(name), () => open(name));
  return {
    settings,
    enter,
    open,
    create: (account, initial) => write("create", account, initial),
    async update(name, changes) {
      const changed = (await of(name).call("update", changes)) as GatewaySettings | null;
      if (changed !== null) await index(name.account).call("put", changed);
      return changed;
    },
    async remove(name) {
      // First the keys: a crash in between must not leave them to the next gateway of this name.
      await recordStore(options.platform).ofGateway(name).clear();
      const removed = (await of(name).call("remove")) as GatewaySettings | null;
      await index(name.account).call("remove", name.gateway);
      return removed;
    },
    changePrices: (account, change) =>
      changePrices(change, system.id(), (...marks) =>
        markAll(index(account), (gateway) => of({ account, gateway }), marks),
      ),
    async list(account, search, offset, limit) {
      // Asked for, they are made: those that nobody has touched yet must be in the list as well.
      for (const gateway of declaredIds(account, options))
        await enlist(settings({ account, gateway }), index(account));
      return (await index(account).call("list", search, offset, limit)) as GatewayPage;
    },
    ...plainCalls(of, actors.get.bind(actors, gatewayActor.name)),
  };
}

async function enlist(asked: Promise<GatewaySettings | null>, index: ActorRef): Promise<void> {
  const settings = await asked;
  if (settings !== null) await index.call("put", settings);
}

/** The gateways are told before it and behind it, see {@link GatewayStore.changePrices}. */
async function changePrices<T>(
  change: () => Promise<T>,
  version: string,
  mark: (...marks: string[]) => Promise<void>,
): Promise<T> {
  const begun = changingPrices(version);
  await mark(begun);
  try {
    return await change();
  } finally {
    await mark(version, begun);
  }
}

async function markAll(
  index: ActorRef,
  of: (gateway: string) => ActorRef,
  marks: readonly string[],
): Promise<void> {
  // All at once: pages would shift while gateways are deleted.
  const { gateways } = (await index.call("list", "", 0, MOST)) as GatewayPage;
  for (let at = 0; at < gateways.length; at += MARKED) {
    const some = gateways.slice(at, at + MARKED);
    await Promise.all(some.map(({ id }) => of(id).call("markPrices", ...marks)));
  }
}

/** The settings of a gateway, made what is declared before they are read. */
async function storedSettings(
  gateway: ActorRef,
  declaration: DeclaredGateway | undefined,
): Promise<GatewaySettings | null> {
  const fixed = declaration?.settings;
  const found = fixed === undefined ? gateway.call("settings") : gateway.call("declare", fixed);
  return (await found) as GatewaySettings | null;
}

function enterGateway(
  gateway: ActorRef,
  isOpen: boolean,
  declaration: DeclaredGateway | undefined,
  open: () => Promise<GatewaySettings>,
): Promise<Entrance> {
  const authentication = declaration?.authentication ?? null;
  const ask = (): Promise<Entrance> =>
    gateway.call("enter", isOpen, authentication, declaration?.settings) as Promise<Entrance>;
  return declaration === undefined ? ask() : enterDeclared(ask, declaration, open);
}

/** A declared gateway is made on its first request; what the declaration says outranks what is stored. */
async function enterDeclared(
  ask: () => Promise<Entrance>,
  declaration: DeclaredGateway,
  open: () => Promise<GatewaySettings>,
): Promise<Entrance> {
  let found = await ask();
  if (found.settings === null) {
    await open();
    found = await ask();
  }
  if (found.settings === null) return found;
  return { ...found, settings: withDeclared(found.settings, declaration) };
}

type PlainCalls = Pick<
  GatewayStore,
  | "spendAdmit"
  | "spendSettle"
  | "findReply"
  | "keepReply"
  | "append"
  | "listLogs"
  | "getLog"
  | "patchLog"
  | "deleteLogs"
  | "summariseLogs"
  | "nextLogs"
>;

function plainCalls(
  of: (name: GatewayName) => ActorRef,
  byActor: (actor: string) => ActorRef,
): PlainCalls {
  return {
    spendAdmit: async (name, facts, estimate) =>
      (await of(name).call("spendAdmit", facts, estimate)) as SpendDecision,
    async spendSettle(name, ticket, amount) {
      await of(name).call("spendSettle", ticket, amount);
    },
    findReply: async (name, id) => (await of(name).call("findReply", id)) as SealedReply | null,
    async keepReply(name, id, reply, capacity) {
      await of(name).call("keepReply", id, reply, capacity);
    },
    async append(actor, rows) {
      await byActor(actor).call("append", rows);
    },
    listLogs: async (name, query, offset, limit) =>
      (await of(name).call("listLogs", query, offset, limit)) as LogPage,
    getLog: async (name, id) => (await of(name).call("getLog", id)) as SqlRow | null,
    patchLog: async (name, id, patch) => (await of(name).call("patchLog", id, patch)) as boolean,
    deleteLogs: async (name, query, limit) =>
      (await of(name).call("deleteLogs", query, limit)) as number,
    summariseLogs: async (name, queries) =>
      (await of(name).call("summariseLogs", queries)) as LogSummary,
    nextLogs: async (name, position, query, waitMs) =>
      (await of(name).call("nextLogs", position, query, waitMs)) as TailPage,
  };
}
