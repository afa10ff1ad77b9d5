import { conflict } from "../../../http/api-error.ts";
import type { ActorContext, ActorKind, Statement } from "../../../ports.ts";
import { isChanging } from "../../prices/account-prices.ts";
import { type SpendLedger, spendLedger, spendSchema } from "../../metering/spend/spend-ledger.ts";
import {
  type GatewayLog,
  gatewayLog,
  type GatewayLogMethods,
} from "../../observe/log/gateway-log.ts";
import type { Ledger } from "../../metering/ledger/ledger.ts";
import { type NowOrLater, whenReady } from "../../../work/now-or-later.ts";
import { keptRateWindow, type KeptRateWindow, rateSchema } from "../../guard/kept-rate-window.ts";
import { logSchema, logSequenceSchema } from "../../observe/log/log-sql.ts";
import {
  replySchema,
  type ReplyShelf,
  replyShelf,
  type ReplyShelfMethods,
} from "../../cache/exact/reply-shelf.ts";
import {
  agrees,
  type DeclaredSettings,
  type GatewayChanges,
  type GatewaySettings,
  withChanges,
} from "../settings/settings.ts";

/** The outcome of a request's entry into a gateway. */
export type Entrance = {
  /** Null when there is no such gateway. */
  readonly settings: GatewaySettings | null;
  /** 0 = counted against the rate limit, else the ms to wait. */
  readonly wait: number;
};

interface SettingsMethods {
  /** Resolves to the settings, storing the given ones when there are none yet. */
  open(initial: GatewaySettings): Promise<GatewaySettings>;
  /** Throws `conflict` when there is such a gateway. */
  create(settings: GatewaySettings): Promise<GatewaySettings>;
  /** Resolves to the settings once they are what is declared; null when there is no such gateway. */
  declare(declared: DeclaredSettings): Promise<GatewaySettings | null>;
  /** Resolves to the settings afterwards; null when there is no such gateway, or no longer. */
  update(changes: GatewayChanges): Promise<GatewaySettings | null>;
  /** Names the prices that count from now on, unless a change of them that began after `begun` is under way. */
  markPrices(version: string, begun?: string | null): Promise<void>;
  /** Resolves to the settings there were. */
  remove(): Promise<GatewaySettings | null>;
}

export interface GatewayMethods
  extends SettingsMethods, SpendLedger, GatewayLogMethods, ReplyShelfMethods {
  settings(): GatewaySettings | null;
  /** The settings, and one request counted unless its token does not open the gateway (`isOpen`). */
  enter(
    isOpen: boolean,
    authentication: boolean | null,
    declared?: DeclaredSettings | null,
  ): Promise<Entrance> | Entrance;
}

/** One gateway: its settings, its log, its rate limit. Named `{account}/{gateway}`. */
export const gatewayActor: ActorKind = {
  name: "gateway",
  schema: [
    `CREATE TABLE gateway_settings (actor TEXT PRIMARY KEY, settings TEXT NOT NULL)`,
    ...logSchema,
    ...spendSchema,
    `ALTER TABLE gateway_logs ADD COLUMN dlp_action TEXT`,
    ...logSequenceSchema,
    rateSchema,
    ...replySchema,
    `ALTER TABLE gateway_logs ADD COLUMN caller TEXT`,
    `ALTER TABLE gateway_logs ADD COLUMN dropped TEXT`,
    `ALTER TABLE gateway_logs ADD COLUMN note TEXT`,
    `ALTER TABLE gateway_logs ADD COLUMN first_byte INTEGER`,
  ],
  // A request must not wait behind a batch of log rows.
  interleaved: ["settings", "enter", "nextLogs", "spendAdmit", "spendSettle", "findReply"],
  async start(context) {
    const [row] = await context.sql.all("SELECT settings FROM gateway_settings WHERE actor = ?", [
      context.name,
    ]);
    const state = { settings: row === undefined ? null : readSettings(row["settings"]) };
    const window = await keptRateWindow(context);
    const log = await gatewayLog(context, () => state.settings);
    const shelf = replyShelf(context, () => state.settings !== null);
    const spend = spendLedger(context, () => state.settings?.spend_limits);
    const ofSettings = settingsMethods(context, state, { window, shelf, log, spend });
    const admit = (isOpen: boolean, authentication: boolean | null): NowOrLater<Entrance> => {
      const { settings } = state;
      if (settings === null) return { settings, wait: 0 };
      const isRefused = !isOpen && (authentication ?? settings.authentication);
      return whenReady(isRefused ? 0 : window.admit(settings), (wait) => ({ settings, wait }));
    };
    const enter: GatewayMethods["enter"] = (isOpen, authentication, declared = null) => {
      const { settings } = state;
      if (declared === null || settings === null || agrees(settings, declared))
        return admit(isOpen, authentication);
      return ofSettings.declare(declared).then(() => admit(isOpen, authentication));
    };
    const methods: GatewayMethods = {
      settings: () => state.settings,
      enter,
      ...spend.methods,
      ...ofSettings,
      ...shelf.methods,
      ...log.methods,
    };
    return { methods: { ...methods } };
  },
};

/** The parts whose rows the settings' methods delete; each remembers some of its rows. */
interface Memory {
  readonly window: KeptRateWindow;
  readonly shelf: ReplyShelf;
  readonly log: GatewayLog;
  readonly spend: Pick<Ledger, "forget">;
}

interface State {
  settings: GatewaySettings | null;
}

function readSettings(text: unknown): GatewaySettings {
  return JSON.parse(String(text)) as GatewaySettings;
}

/**
 * Runs changes one after the other. The mailbox does not: `enter` may declare settings while another call stores its
 * own, and each would build on settings that the other is about to replace.
 */
function inOrder(): <T>(change: () => Promise<T> | T) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (change) => {
    const done = last.then(change);
    last = done.catch(() => undefined);
    return done;
  };
}

function settingsMethods(context: ActorContext, state: State, memory: Memory): SettingsMethods {
  const ordered = inOrder();
  const save = async (settings: GatewaySettings): Promise<GatewaySettings> => {
    const wipes = settings.cache_invalidate_on_update;
    await context.sql.batch([
      {
        sql: `INSERT INTO gateway_settings (actor, settings) VALUES (?, ?)
          ON CONFLICT (actor) DO UPDATE SET settings = excluded.settings`,
        params: [context.name, JSON.stringify(settings)],
      },
      ...(wipes ? [wipe("gateway_replies", context)] : []),
    ]);
    if (wipes) memory.shelf.forget();
    state.settings = settings;
    return settings;
  };
  return {
    open: (initial) => ordered(() => state.settings ?? save(initial)),
    create: (settings) =>
      ordered(() => {
        if (state.settings === null) return save(settings);
        throw conflict(`Gateway "${settings.id}" already exists`);
      }),
    declare: (declared) =>
      ordered(() => {
        const { settings } = state;
        if (settings === null || agrees(settings, declared)) return settings;
        return save(withChanges(settings, declared, context.system.now()));
      }),
    update: (changes) =>
      ordered(() =>
        state.settings === null
          ? null
          : save(withChanges(state.settings, changes, context.system.now())),
      ),
    markPrices: (version, begun = null) =>
      ordered(async () => {
        if (state.settings === null) return;
        const { prices_version: current } = state.settings;
        if (begun !== null && current !== begun && isChanging(current)) return;
        const settings = { ...state.settings, prices_version: version };
        const sql = "UPDATE gateway_settings SET settings = ? WHERE actor = ?";
        await context.sql.batch([{ sql, params: [JSON.stringify(settings), context.name] }]);
        state.settings = settings;
      }),
    remove: () =>
      ordered(async () => {
        await context.sql.batch(TABLES.map((table) => wipe(table, context)));
        const removed = state.settings;
        state.settings = null;
        // The next gateway of this name has done nothing yet.
        for (const part of Object.values(memory)) part.forget();
        return removed;
      }),
  };
}

const TABLES = [
  "gateway_settings",
  "gateway_logs",
  "gateway_log_bodies",
  "gateway_spend",
  "gateway_rate",
  "gateway_replies",
];

function wipe(table: string, { name }: ActorContext): Statement {
  return { sql: `DELETE FROM ${table} WHERE actor = ?`, params: [name] };
}
