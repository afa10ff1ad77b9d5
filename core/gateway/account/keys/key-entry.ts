import { BoundedMap } from "../../../work/bounded-map.ts";
import { quickSha256Hex } from "../../../crypto/digest.ts";
import { ApiError } from "../../../http/api-error.ts";
import type { System } from "../../../ports.ts";
import type { GatewayCaller, GrantedLimit, GrantedPath, KeyGrant } from "../../call/caller.ts";
import { plainPath } from "../../providers/reach/inferences.ts";
import { DEFAULT_ALIAS } from "../settings/declared-gateways.ts";
import type { GatewayName } from "../settings/gateway-name.ts";
import { keyBudgetOwner, type ReportBudgets } from "../../observe/budget-report.ts";
import { refusalHeaders } from "../../metering/spend/spend.ts";
import type { KeyStore } from "./key-store.ts";
import type { KeyEntrance } from "./keys-actor.ts";
import type { Team } from "./team.ts";
import type { KeySettings } from "./virtual-key.ts";

/** Lets callers in by virtual keys. */
export interface KeyEntry {
  /**
   * Finds the caller with a key; counts one request against its limits, unless `counts` is false. Throws `gateway_unauthorized`
   * for a key that does not open the gateway and `gateway_rate_limited` over a limit of requests.
   */
  bySecret(secret: string, name: GatewayName, counts: boolean): Promise<GatewayCaller>;
  /** The same for a connection that has shown the secret before: by its SHA-256, so that a rotated one ends. */
  byHash(hash: string, name: GatewayName, counts: boolean): Promise<GatewayCaller>;
}

const reasons = {
  unknown: "the virtual key is not known: it was deleted, rotated, or belongs to another account",
  disabled: "the virtual key is disabled",
  expired: "the virtual key has expired",
  gateway: "the virtual key is not for this gateway",
  team: "the team of the virtual key is disabled",
} as const;

/** Keys whose callers are kept ready. */
const REMEMBERED = 5000;

export function keyEntry(keys: KeyStore, system: System, report: ReportBudgets): KeyEntry {
  const callerOf = callers();
  const byHash: KeyEntry["byHash"] = async (hash, { account, gateway }, counts) => {
    const entrance = await keys.at(account).enter(hash, gateway, counts);
    const caller = callerOf(entrance);
    if ("alerts" in entrance) report(account, entrance.alerts, keyBudgetOwner);
    return { ...caller, tokenHash: hash };
  };
  return {
    byHash,
    bySecret: async (secret, name, counts) =>
      byHash(await quickSha256Hex(secret, system), name, counts),
  };
}

/** A caller, and the versions of the key and of the team that it was made of. */
interface KnownCaller {
  readonly modifiedAt: number;
  readonly teamModifiedAt: number | undefined;
  readonly caller: GatewayCaller;
}

/** Turns entrances into callers: each key is read once for each change of it or of its team, not for each request. */
function callers(): (entrance: KeyEntrance) => GatewayCaller {
  const known = new BoundedMap<string, KnownCaller>(REMEMBERED);
  return (entrance) => {
    const { key, team } = admittedKey(entrance);
    const { id, settings, modifiedAt } = key;
    const teamModifiedAt = team?.modifiedAt;
    const found = known.get(id);
    if (found?.modifiedAt === modifiedAt && found.teamModifiedAt === teamModifiedAt)
      return found.caller;
    const caller: GatewayCaller = { kind: "key", id, grant: grantOf(settings, team) };
    known.set(id, { modifiedAt, teamModifiedAt, caller });
    return caller;
  };
}

/** The key that may enter; throws why it may not. */
function admittedKey(entrance: KeyEntrance): Extract<KeyEntrance, { key: unknown }> {
  if ("reason" in entrance) {
    throw new ApiError("gateway_unauthorized", {
      message: `Unauthorized: ${reasons[entrance.reason]}`,
    });
  }
  if ("refused" in entrance) {
    throw new ApiError("gateway_rate_limited", {
      message: `Rate limited: ${entrance.refused}`,
      headers: refusalHeaders(entrance.wait),
    });
  }
  return entrance;
}

function grantOf(settings: KeySettings, team: Team | null): KeyGrant {
  const { models, aliases, paths } = settings;
  const ofTeam =
    team === null ? [] : grantedLimits(team.settings, `team "${team.id}"`, "on the team");
  return {
    models: models?.map((model) => model.toLowerCase()) ?? null,
    aliases: aliases ?? [DEFAULT_ALIAS],
    paths: paths.map(grantedPath),
    team: settings.team,
    tags: settings.tags,
    limits: [...grantedLimits(settings, "virtual key", "on the key"), ...ofTeam],
  };
}

function grantedLimits(
  { limits, on_unknown: onUnknown }: Pick<KeySettings, "limits" | "on_unknown">,
  owner: string,
  place: string,
): GrantedLimit[] {
  return limits.flatMap(({ limitType, models }) =>
    limitType === "requests" ? [] : [{ limitType, models, onUnknown, owner, place }],
  );
}

/** The schema has checked its form. */
function grantedPath(text: string): GrantedPath {
  const [method = "", address = ""] = text.split(" ");
  const slash = address.indexOf("/");
  const path = plainPath(address.slice(slash + 1));
  return { method, path: `${address.slice(0, slash)}/${path}` };
}
