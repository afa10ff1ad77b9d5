import { ApiError } from "../../../http/api-error.ts";
import type { ActorContext, ActorKind, SqlValue } from "../../../ports.ts";
import { contains } from "../../../sql/sql-text.ts";
import type { NowOrLater } from "../../../work/now-or-later.ts";
import type {
  Budget,
  BudgetAlert,
  Claims,
  Reservation,
  Settlement,
} from "../../metering/ledger/budget.ts";
import { keyLedger, usageSchema } from "./key-ledger.ts";
import { budgetsOf, countsModels, type KeyLimit, type RequestModels } from "./key-limit.ts";
import { keyOfRow, keyRows } from "./key-rows.ts";
import { declareKeys, type KeyParts } from "./declare-keys.ts";
import type { KeyDeclaration } from "./declared-keys.ts";
import { declaredConflict, knownTeam, type TeamMethods, teamMethods } from "./team-methods.ts";
import { type TeamRows, teamRows, teamSchema } from "./team-rows.ts";
import { type Team, teamScope } from "./team.ts";
import type { KeySettings, LimitUsage, VirtualKey } from "./virtual-key.ts";

const KEY_LIMIT = 100_000;
/** How exact `last_used_at` is, in ms: more often, every request would be a write. */
const USE_GRAIN = 60_000;

/** The outcome of a request that presents a key: the key, or why it is refused. */
export type KeyEntrance =
  | {
      readonly key: Pick<VirtualKey, "id" | "settings" | "modifiedAt">;
      readonly team: Team | null;
      readonly alerts: readonly BudgetAlert[];
    }
  | { readonly reason: "unknown" | "disabled" | "expired" | "gateway" | "team" }
  | { readonly refused: string; readonly wait: number | null };

export type KeyWithUsage = { readonly key: VirtualKey; readonly usage: readonly LimitUsage[] };

export type KeyPage = { readonly keys: readonly KeyWithUsage[]; readonly total: number };

export type KeyQuery = {
  /** Part of id, name, owner or settings. */
  readonly search: string;
  /** @default every owner */
  readonly owner?: string | undefined;
  /** The id of a team. @default every team, and none */
  readonly team?: string | undefined;
};

/** The methods for requests that present a key. */
interface KeyUseMethods {
  /** Finds the key with a secret's hash, as it may use a gateway; counts one request, if `counts`. */
  enter(hash: string, gateway: string, counts: boolean): Promise<KeyEntrance>;
  /** Sets aside what a request may use of the limits of its key and of the key's team, all or none; see `Ledger`. */
  reserve(id: string, claims: Claims, models: RequestModels): Promise<Reservation>;
  settle(ended: readonly Settlement[]): NowOrLater<readonly BudgetAlert[]>;
}

interface KeyManagementMethods {
  create(key: VirtualKey): Promise<KeyWithUsage>;
  get(id: string): Promise<KeyWithUsage | null>;
  /** Replaces a key that was seen with this `modifiedAt`; a late change must not revive a rotated secret. */
  replace(key: VirtualKey, seen: number): Promise<KeyWithUsage>;
  /** Resolves to whether there was such a key. */
  remove(id: string): Promise<boolean>;
  list(query: KeyQuery, offset: number, limit: number): Promise<KeyPage>;
}

export interface KeyMethods extends KeyUseMethods, KeyManagementMethods, TeamMethods {
  /** Makes the keys and teams of the configuration what it says; those of the management API stay. */
  declare(declaration: KeyDeclaration): Promise<void>;
}

/** The virtual keys and the teams of one account, named by it, and what they have used. */
export const keysActor: ActorKind = {
  name: "gateway-keys",
  schema: [
    `CREATE TABLE gateway_keys (
      actor TEXT NOT NULL, id TEXT NOT NULL, hash TEXT NOT NULL, former_hash TEXT, former_until BIGINT,
      ending TEXT NOT NULL, name TEXT NOT NULL, owner TEXT, settings TEXT NOT NULL,
      created_at BIGINT NOT NULL, modified_at BIGINT NOT NULL, last_used_at BIGINT, PRIMARY KEY (actor, id))`,
    "CREATE UNIQUE INDEX gateway_keys_hash ON gateway_keys (actor, hash)",
    "CREATE INDEX gateway_keys_former ON gateway_keys (actor, former_hash)",
    ...usageSchema,
    ...teamSchema,
  ],
  // On the way of requests: they must not wait behind a listing.
  interleaved: ["enter", "reserve", "settle"],
  start(context) {
    const ledger = keyLedger(context);
    const rows = keyRows(context);
    const teams = teamRows(context);
    const parts = { rows, teams, ledger };
    return {
      methods: {
        ...useMethods(context, parts),
        ...manageMethods(context, parts),
        ...teamMethods(context, teams, ledger),
        declare: (declaration: KeyDeclaration) => declareKeys(context, declaration, parts),
      },
    };
  },
};

function useMethods({ system }: ActorContext, { rows, teams, ledger }: KeyParts): KeyUseMethods {
  const teamOf = async ({ team }: KeySettings): Promise<Team | null> =>
    team === null ? null : ((await teams.all()).get(team) ?? null);
  return {
    async enter(hash, gateway, counts) {
      const now = system.now();
      const key = await rows.find({ hash });
      if (key === null || isLate(key, hash, now)) return { reason: "unknown" };
      const { id, settings } = key;
      if (!settings.enabled) return { reason: "disabled" };
      if (settings.expires_at !== null && now >= settings.expires_at) return { reason: "expired" };
      if (settings.gateways?.includes(gateway) === false) return { reason: "gateway" };
      const team = await teamOf(settings);
      if (team?.settings.enabled === false) return { reason: "team" };
      const decision = counts
        ? await ledger.reserve(budgetsFor(key, team), ONE_REQUEST)
        : NOTHING_RESERVED;
      if ("refused" in decision) return decision;
      if (now - (key.lastUsedAt ?? 0) >= USE_GRAIN) system.waitUntil(rows.noteUse(key, now));
      const { alerts } = decision;
      return { key: { id, settings, modifiedAt: key.modifiedAt }, team, alerts };
    },
    async reserve(id, claims, models) {
      const key = await rows.find({ id });
      if (key === null) return NOTHING_RESERVED;
      const budgets = budgetsFor(key, await teamOf(key.settings), models);
      return ledger.reserve(budgets, claims);
    },
    settle: ledger.settle,
  };
}

/** Returns the budgets of a key and its team that count a request; without `models` those of every model. */
function budgetsFor(
  { id, settings }: VirtualKey,
  team: Team | null,
  models: RequestModels = { slug: "", names: null },
): Budget[] {
  const counted = (scope: string, owner: string, limits: readonly KeyLimit[]): Budget[] =>
    limits.length === 0
      ? []
      : budgetsOf(
          scope,
          owner,
          limits.filter((limit) => countsModels(limit, models)),
        );
  const own = counted(id, "the virtual key", settings.limits);
  if (team === null) return own;
  return [...own, ...counted(teamScope(team.id), `the team "${team.id}"`, team.settings.limits)];
}

const NOTHING_RESERVED = { entries: [], alerts: [] } as const;

const ONE_REQUEST: Claims = { requests: { needed: 1, guessed: 0 } };

/** Whether a key was presented by a secret that it no longer has. */
function isLate(key: VirtualKey, hash: string, now: number): boolean {
  if (hash === key.hash) return false;
  return key.formerUntil === null || now >= key.formerUntil;
}

function manageMethods(
  { name: actor, sql }: ActorContext,
  { rows, teams, ledger }: KeyParts,
): KeyManagementMethods {
  const shown = async (key: VirtualKey): Promise<KeyWithUsage> => ({
    key,
    usage: await ledger.usage(key.id, key.settings.limits),
  });
  return {
    async create(key) {
      const [row] = await sql.all("SELECT COUNT(*) AS n FROM gateway_keys WHERE actor = ?", [
        actor,
      ]);
      if (Number(row?.["n"] ?? 0) >= KEY_LIMIT) {
        throw new ApiError("conflict", {
          message: `The limit of ${KEY_LIMIT} virtual keys is reached: delete some first`,
        });
      }
      await checkTeam(key.settings, teams);
      await rows.put(key);
      return shown(key);
    },
    async get(id) {
      const key = await rows.find({ id });
      return key === null ? null : shown(key);
    },
    async replace(key, seen) {
      const current = await rows.find({ id: key.id });
      if (current?.modifiedAt !== seen) {
        throw new ApiError("conflict", {
          message: "The virtual key was changed meanwhile: try again",
        });
      }
      if (current.declared) throw declaredConflict("The virtual key");
      await checkTeam(key.settings, teams);
      await rows.put({ ...key, lastUsedAt: current.lastUsedAt });
      return shown(key);
    },
    async remove(id) {
      const key = await rows.find({ id });
      if (key === null) return false;
      if (key.declared) throw declaredConflict("The virtual key");
      await rows.remove(id, [ledger.forget(id)]);
      return true;
    },
    async list(query, offset, limit) {
      const { where, params } = condition(actor, query);
      const [total] = await sql.all(
        `SELECT COUNT(*) AS n FROM gateway_keys WHERE ${where}`,
        params,
      );
      const found = await sql.all(
        `SELECT * FROM gateway_keys WHERE ${where} ORDER BY created_at DESC, id LIMIT ? OFFSET ?`,
        [...params, limit, offset],
      );
      const keys = await Promise.all(found.map(keyOfRow).map(shown));
      return { keys, total: Number(total?.["n"] ?? 0) };
    },
  };
}

/** Throws `invalid_request` for a team that does not exist. */
async function checkTeam({ team }: KeySettings, teams: TeamRows): Promise<void> {
  if (team !== null) knownTeam(team, await teams.all(), "invalid_request");
}

function condition(
  actor: string,
  { search, owner, team }: KeyQuery,
): { where: string; params: SqlValue[] } {
  const parts = ["actor = ?"];
  const params: SqlValue[] = [actor];
  for (const [column, value] of Object.entries({ owner, team })) {
    if (value === undefined) continue;
    parts.push(`${column} = ?`);
    params.push(value);
  }
  if (search !== "") {
    const fields = ["id", "name", "settings"];
    parts.push(`(${fields.map(contains).join(" OR ")})`);
    for (const _ of fields) params.push(search);
  }
  return { where: parts.join(" AND "), params };
}
