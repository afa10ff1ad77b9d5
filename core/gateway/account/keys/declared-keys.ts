import { misfitText } from "../../../http/fields/misfit.ts";
import * as v from "valibot";
import { quickSha256Hex } from "../../../crypto/digest.ts";
import { ApiError } from "../../../http/api-error.ts";
import { didYouMean, misspelling } from "../../../text/nearest.ts";
import type { System } from "../../../ports.ts";
import { DEFAULT_GATEWAY } from "../settings/settings.ts";
import { type TeamChange, teamDeclared, teamId } from "./team.ts";
import {
  type DeclaredVirtualKey,
  keyDeclared,
  keySettings,
  type VirtualKey,
} from "./virtual-key.ts";

/** The teams and the virtual keys of the configuration, by their ids. */
export interface DeclaredKeys {
  readonly teams?: Readonly<Record<string, TeamChange>> | undefined;
  readonly virtualKeys?: Readonly<Record<string, DeclaredVirtualKey>> | undefined;
}

/** Teams and keys as they are handed to the actor that keeps them: without secrets. */
export type KeyDeclaration = {
  readonly teams: readonly { readonly id: string; readonly change: TeamChange }[];
  readonly keys: readonly Pick<VirtualKey, "id" | "hash" | "ending" | "settings">[];
};

/** Declared keys: more are made by the management API. */
const MOST = 1000;

export const declaredTeams: v.GenericSchema<unknown, Readonly<Record<string, TeamChange>>> = v.pipe(
  v.record(teamId, teamDeclared),
  v.maxEntries(MOST, `expected at most ${MOST} teams`),
);

export const declaredVirtualKeys: v.GenericSchema<
  unknown,
  Readonly<Record<string, DeclaredVirtualKey>>
> = v.pipe(
  v.record(teamId, keyDeclared),
  v.maxEntries(MOST, `expected at most ${MOST} virtual keys`),
);

/** Checks declared teams and keys; throws `invalid_options`. */
export function checkDeclaredKeys({ teams = {}, virtualKeys = {} }: DeclaredKeys): void {
  check("teams", declaredTeams, teams);
  check("virtualKeys", declaredVirtualKeys, virtualKeys);
  const secrets = new Map<string, string>();
  for (const [id, { team = null, secret }] of Object.entries(virtualKeys)) {
    if (team !== null && !Object.hasOwn(teams, team)) {
      throw misfit(
        `virtualKeys.${id}.team: there is no team "${team.slice(0, 64)}" among the declared ones${didYouMean(team, Object.keys(teams))}`,
      );
    }
    const other = secrets.get(secret);
    if (other !== undefined)
      throw misfit(`virtualKeys.${id}.secret: "${other}" has the same: each key has its own`);
    secrets.set(secret, id);
  }
}

/** A gateway that a declared key names and nobody declares, though a declared one has nearly its name. */
export interface DoubtfulGateway {
  readonly key: string;
  readonly gateway: string;
  readonly meant: string;
}

/** Lists such gateways. They may have been made by the management API, so they are no mistake for sure. */
export function doubtfulGateways(
  { virtualKeys = {} }: DeclaredKeys,
  declared: readonly string[],
): DoubtfulGateway[] {
  const known = [DEFAULT_GATEWAY, ...declared];
  return Object.entries(virtualKeys).flatMap(([key, { gateways }]) =>
    (gateways ?? []).flatMap((gateway) => {
      const meant = known.includes(gateway) ? undefined : misspelling(gateway, known);
      return meant === undefined ? [] : [{ key, gateway, meant }];
    }),
  );
}

function check(name: string, schema: v.GenericSchema, value: unknown): void {
  const { success, issues } = v.safeParse(schema, value);
  if (success) return;
  throw misfit(misfitText(issues, { within: name }));
}

function misfit(message: string): ApiError {
  return new ApiError("invalid_options", { message });
}

/** Makes the declaration of checked teams and keys. */
export async function keyDeclaration(
  { teams = {}, virtualKeys = {} }: DeclaredKeys,
  system: System,
): Promise<KeyDeclaration> {
  const keys = Object.entries(virtualKeys).map(
    async ([id, { secret, name = id, ...settings }]) => ({
      id,
      hash: await quickSha256Hex(secret, system),
      ending: secret.slice(-4),
      settings: keySettings({ name, ...settings }),
    }),
  );
  return {
    teams: Object.entries(teams).map(([id, change]) => ({ id, change })),
    keys: await Promise.all(keys),
  };
}
