import * as v from "valibot";
import { formatInstant } from "../../../http/fields/instant.ts";
import { type KeyLimit, keyLimits, strictLimits } from "./key-limit.ts";
import { limitUsageView, type LimitUsage } from "./virtual-key.ts";

export type TeamSettings = {
  readonly name: string;
  readonly enabled: boolean;
  /** Budgets over all its keys together. */
  readonly limits: readonly KeyLimit[];
  /** Whether a request is refused whose cost, if a limit counts cost, or tokens, if one counts tokens, cannot be known. */
  readonly on_unknown: "refuse" | "allow";
};

/** A team as it is kept. Times are Unix ms. */
export type Team = {
  readonly id: string;
  readonly settings: TeamSettings;
  /** Whether it is one of the configuration, which alone changes it. */
  readonly declared: boolean;
  readonly createdAt: number;
  readonly modifiedAt: number;
};

export type TeamWithUsage = {
  readonly team: Team;
  readonly keys: number;
  readonly usage: readonly LimitUsage[];
};

export const teamId: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.regex(
    /^[a-z0-9][a-z0-9_-]{0,63}$/,
    'expected the id of a team: 1 to 64 small letters, digits, "-" or "_", such as "research"',
  ),
);

const name = v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(120));
const entries = {
  name: v.optional(name),
  enabled: v.optional(v.boolean()),
  limits: v.optional(keyLimits),
  on_unknown: v.optional(v.picklist(["refuse", "allow"])),
};

/** A body that changes a team; what it leaves out keeps its value. */
export type TeamChange = { readonly [K in keyof TeamSettings]?: TeamSettings[K] | undefined };

export const teamCreate: v.GenericSchema<unknown, TeamChange & { id: string }> = v.strictObject({
  id: teamId,
  ...entries,
});

export const teamChange: v.GenericSchema<unknown, TeamChange> = v.object(entries);

export const teamDeclared: v.GenericSchema<unknown, TeamChange> = v.strictObject({
  ...entries,
  limits: v.optional(strictLimits),
});

/** Returns a team's settings after a change; a new team starts without limits. */
export function teamSettings(
  id: string,
  change: TeamChange,
  former: TeamSettings = { name: id, enabled: true, limits: [], on_unknown: "refuse" },
): TeamSettings {
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  return { ...former, ...Object.fromEntries(given) };
}

/** The scope of a team's budgets in the ledger: no key has such an id. */
export function teamScope(id: string): string {
  return `team:${id}`;
}

export function teamView({ team, keys, usage }: TeamWithUsage): Record<string, unknown> {
  return {
    id: team.id,
    ...team.settings,
    declared: team.declared,
    keys,
    usage: usage.map(limitUsageView),
    created_at: formatInstant(team.createdAt),
    modified_at: formatInstant(team.modifiedAt),
  };
}
