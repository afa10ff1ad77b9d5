import { type ActorClient, actorClient } from "../../../actors/actor-client.ts";
import { listAsItIs } from "../../../actors/list-as-it-is.ts";
import type { Platform } from "../../../ports.ts";
import { accountActor, type AccountMethods, type GatewayPage } from "./account-actor.ts";
import type { SpendLedger } from "../../metering/spend/spend-ledger.ts";
import { type Entrance, gatewayActor, type GatewayMethods } from "./gateway-actor.ts";
import type { GatewayLogMethods } from "../../observe/log/gateway-log.ts";
import {
  type DeclaredGateway,
  declaredGateway,
  type DeclaredGateways,
  declaredIds,
  withDeclared,
} from "../settings/declared-gateways.ts";
import { actorName, type GatewayName } from "../settings/gateway-name.ts";
import type { LogRow } from "../../call/ended-attempt.ts";
import type { ReplyShelfMethods } from "../../cache/exact/reply-shelf.ts";
import { changingPrices, PRICES } from "../../prices/account-prices.ts";
import { recordStore } from "../records/records.ts";
import { didYouMean } from "../../../text/nearest.ts";
import {
  DEFAULT_GATEWAY,
  type GatewayChanges,
  type GatewaySettings,
  initialSettings,
} from "../settings/settings.ts";

/** The gateways of all accounts, behind typed calls: the one place that speaks to their actors. */
export interface GatewayStore {
  /** The settings, or null when there is no such gateway. */
  settings(name: GatewayName): Promise<GatewaySettings | null>;
  /** Offers the gateway of the account that a caller may have misspelt, at the end of a message. */
  hint(name: GatewayName): Promise<string>;
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
  /** Returns the methods of one gateway's actor: its log, its ledger, its kept answers. */
  at(name: GatewayName): GatewayCalls;
  append(actor: string, rows: readonly LogRow[]): Promise<void>;
}

/** Calls of one gateway that leave its settings alone. */
type GatewayCalls = ActorClient<SpendLedger & GatewayLogMethods & ReplyShelfMethods>;

/** Gateways of an account, of which no more are told of its prices. */
const MOST = 1_000_000;
/** Gateways among which a misspelt one is looked for. */
const HINTED = 100;
/** Gateways that are told at once that prices have changed. */
const MARKED = 50;

type Gateway = ActorClient<GatewayMethods>;
type Account = ActorClient<AccountMethods>;
/** The version of prices that counts, and which one was under way. */
type Marks = readonly [version: string, begun?: string];

export interface StoreOptions extends DeclaredGateways {
  readonly platform: Platform;
}

/** Registers the actors and returns the typed calls. */
export function gatewayStore(options: StoreOptions): GatewayStore {
  const { actors, system } = options.platform;
  const records = recordStore(options.platform);
  actors.define(gatewayActor);
  actors.define(accountActor);
  const of = (name: GatewayName): Gateway =>
    actorClient(actors.get(gatewayActor.name, actorName(name)));
  const index = (account: string): Account => actorClient(actors.get(accountActor.name, account));
  const declared = (name: GatewayName) => declaredGateway(name, options);
  const write = async (method: "open" | "create", account: string, initial: GatewaySettings) => {
    const gateway = of({ account, gateway: initial.id });
    // Written first and listed second: a crash between leaves no phantom in the list.
    const written = await gateway[method](initial);
    await listGateway(gateway, index(account), initial.id);
    // Read after the gateway is in the list: a later change of a price finds it there.
    const priced = await records.ofAccount(account).group("price", PRICES);
    if (priced.length === 0) return written;
    await gateway.markPrices(system.id(), "");
    // The request that makes a gateway uses these prices, too.
    return (await gateway.settings()) ?? written;
  };
  const open = async (name: GatewayName): Promise<GatewaySettings> => {
    const authentication = declared(name)?.authentication ?? true;
    return write("open", name.account, initialSettings(name.gateway, system.now(), authentication));
  };
  const settings = async (name: GatewayName): Promise<GatewaySettings | null> => {
    const declaration = declared(name);
    const ask = () => storedSettings(of(name), declaration);
    const found = (await ask()) ?? (declaration === undefined ? null : await open(name).then(ask));
    return found === null || declaration === undefined ? found : withDeclared(found, declaration);
  };
  return {
    settings,
    enter: (name, isOpen) => enterGateway(of(name), isOpen, declared(name), () => open(name)),
    open,
    create: (account, initial) => write("create", account, initial),
    async update(name, changes) {
      const changed = await of(name).update(changes);
      if (changed !== null) await listGateway(of(name), index(name.account), name.gateway);
      return changed;
    },
    async remove(name) {
      // First the keys: a crash in between must not leave them to the next gateway of this name.
      await records.ofGateway(name).clear();
      const removed = await of(name).remove();
      await listGateway(of(name), index(name.account), name.gateway);
      return removed;
    },
    changePrices: (account, change) =>
      changePrices(change, system.id(), (...marks) =>
        markAll(index(account), (gateway) => of({ account, gateway }), marks),
      ),
    async list(account, ...page) {
      // Reading their settings makes them: declared gateways that were not used yet belong in the list as well.
      for (const gateway of declaredIds(account, options))
        await enlist(settings({ account, gateway }), index(account));
      return index(account).list(...page);
    },
    hint: ({ account, gateway }) => hintFor(gateway, index(account), declaredIds(account, options)),
    at: of,
    append: (actor, rows) =>
      actorClient<GatewayMethods>(actors.get(gatewayActor.name, actor)).append(rows),
  };
}

async function hintFor(
  gateway: string,
  index: Account,
  declared: readonly string[],
): Promise<string> {
  if (gateway === DEFAULT_GATEWAY) return ": its first request with a token makes it";
  const { gateways } = await index.list("", 0, HINTED);
  const ids = [DEFAULT_GATEWAY, ...declared, ...gateways.map(({ id }) => id)];
  return didYouMean(gateway.slice(0, 64), ids);
}

function listGateway(gateway: Gateway, index: Account, id: string): Promise<void> {
  return listAsItIs({
    read: () => gateway.settings(),
    put: (settings) => index.put(settings),
    remove: () => index.remove(id),
  });
}

async function enlist(asked: Promise<GatewaySettings | null>, index: Account): Promise<void> {
  const settings = await asked;
  if (settings !== null) await index.put(settings);
}

/** The gateways are told before it and behind it, see {@link GatewayStore.changePrices}. */
async function changePrices<T>(
  change: () => Promise<T>,
  version: string,
  mark: (...marks: Marks) => Promise<void>,
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
  index: Account,
  of: (gateway: string) => Gateway,
  marks: Marks,
): Promise<void> {
  // All at once: pages would shift while gateways are deleted.
  const { gateways } = await index.list("", 0, MOST);
  for (let at = 0; at < gateways.length; at += MARKED) {
    const some = gateways.slice(at, at + MARKED);
    await Promise.all(some.map(({ id }) => of(id).markPrices(...marks)));
  }
}

/** The settings of a gateway, made what is declared before they are read. */
function storedSettings(
  gateway: Gateway,
  declaration: DeclaredGateway | undefined,
): Promise<GatewaySettings | null> {
  const fixed = declaration?.settings;
  return fixed === undefined ? gateway.settings() : gateway.declare(fixed);
}

function enterGateway(
  gateway: Gateway,
  isOpen: boolean,
  declaration: DeclaredGateway | undefined,
  open: () => Promise<GatewaySettings>,
): Promise<Entrance> {
  const authentication = declaration?.authentication ?? null;
  const ask = (): Promise<Entrance> => gateway.enter(isOpen, authentication, declaration?.settings);
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
