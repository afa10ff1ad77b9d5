import type { ActorContext, Statement } from "../../../ports.ts";
import type { KeyDeclaration } from "./declared-keys.ts";
import type { KeyLedger } from "./key-ledger.ts";
import type { KeyRows } from "./key-rows.ts";
import type { TeamRows } from "./team-rows.ts";
import { type Team, teamScope, teamSettings } from "./team.ts";
import type { VirtualKey } from "./virtual-key.ts";

/** The rows of keys and teams, and the ledger in which their use is counted. */
export interface KeyParts {
  readonly rows: KeyRows;
  readonly teams: TeamRows;
  readonly ledger: KeyLedger;
}

/**
 * Makes the teams and keys of the configuration what it says, in one transaction. Those that it no longer has are deleted
 * with their counts. A team stays that keys of the management API name: without its budgets they would spend freely.
 */
export async function declareKeys(
  { system }: ActorContext,
  declaration: KeyDeclaration,
  parts: KeyParts,
): Promise<void> {
  const now = system.now();
  const ofKeys = await keyStatements(declaration, parts, now);
  const statements = [...ofKeys, ...(await teamStatements(declaration, parts, now))];
  if (statements.length === 0) return;
  await parts.rows.write(statements).finally(() => {
    parts.teams.forget();
  });
}

async function keyStatements(
  { keys: wanted }: KeyDeclaration,
  { rows, ledger }: KeyParts,
  now: number,
): Promise<Statement[]> {
  const former = await rows.declared();
  const gone = former.filter(({ id }) => !wanted.some((one) => one.id === id));
  const statements = gone.flatMap(({ id }) => [rows.removal(id), ledger.forget(id)]);
  for (const one of wanted) {
    const key = declaredKey(one, await rows.find({ id: one.id }), now);
    if (key !== null) statements.push(rows.upsert(key));
  }
  return statements;
}

async function teamStatements(
  { teams: wanted }: KeyDeclaration,
  parts: KeyParts,
  now: number,
): Promise<Statement[]> {
  const { teams } = parts;
  const known = await teams.all();
  const changed = wanted.flatMap(({ id, change }) => {
    const found = known.get(id);
    const settings = teamSettings(id, change);
    if (found?.declared === true && isSame(found.settings, settings)) return [];
    const createdAt = found?.createdAt ?? now;
    const modifiedAt = Math.max(now, (found?.modifiedAt ?? 0) + 1);
    return [teams.upsert({ id, settings, declared: true, createdAt, modifiedAt })];
  });
  const gone = [...known.values()].filter(
    (team) => team.declared && !wanted.some(({ id }) => id === team.id),
  );
  const former = await Promise.all(gone.map((team) => undeclared(team, parts)));
  return [...changed, ...former.flat()];
}

/** The statements for a team that is declared no longer. */
async function undeclared(team: Team, { rows, teams, ledger }: KeyParts): Promise<Statement[]> {
  return (await rows.hasFreeKeys(team.id))
    ? [teams.upsert({ ...team, declared: false })]
    : [teams.removal(team.id), ledger.forget(teamScope(team.id))];
}

/** Returns a key as it is declared; null where it is so already. */
function declaredKey(
  wanted: KeyDeclaration["keys"][number],
  found: VirtualKey | null,
  now: number,
): VirtualKey | null {
  const isSameKey =
    found !== null &&
    found.declared &&
    found.hash === wanted.hash &&
    isSame(found.settings, wanted.settings);
  if (isSameKey) return null;
  return {
    ...wanted,
    declared: true,
    formerHash: null,
    formerUntil: null,
    createdAt: found?.createdAt ?? now,
    modifiedAt: Math.max(now, (found?.modifiedAt ?? 0) + 1),
    lastUsedAt: found?.lastUsedAt ?? null,
  };
}

function isSame(one: object, other: object): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

/** A stored object may have its members in another order. */
function sorted(value: object): [string, unknown][] {
  return Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
