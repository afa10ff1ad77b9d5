import { ApiError } from "../../../http/api-error.ts";
import { didYouMean } from "../../../text/nearest.ts";
import type { ActorContext } from "../../../ports.ts";
import type { KeyLedger } from "./key-ledger.ts";
import { type Team, type TeamChange, teamScope, teamSettings, type TeamWithUsage } from "./team.ts";
import type { TeamRows } from "./team-rows.ts";

const TEAM_LIMIT = 1000;

/** A page of teams, and how many fit in all. */
export type TeamPage = { readonly teams: readonly TeamWithUsage[]; readonly total: number };

export interface TeamMethods {
  /** Throws `conflict` for an id that is taken. */
  createTeam(id: string, change: TeamChange): Promise<TeamWithUsage>;
  /** Throws `not_found`, as all that name a team. */
  getTeam(id: string): Promise<TeamWithUsage>;
  changeTeam(id: string, change: TeamChange): Promise<TeamWithUsage>;
  /** Throws `conflict` while keys name the team. Resolves to the team that there was. */
  removeTeam(id: string): Promise<TeamWithUsage>;
  /** The teams whose id or name contains `search`, by id. */
  listTeams(search: string, offset: number, limit: number): Promise<TeamPage>;
}

export function teamMethods(context: ActorContext, rows: TeamRows, ledger: KeyLedger): TeamMethods {
  const { system } = context;
  const shown = async (team: Team): Promise<TeamWithUsage> => ({
    team,
    keys: await countKeys(team.id, context),
    usage: await ledger.usage(teamScope(team.id), team.settings.limits),
  });
  const found = async (id: string): Promise<Team> => knownTeam(id, await rows.all(), "not_found");
  const changeable = async (id: string): Promise<Team> => {
    const team = await found(id);
    if (team.declared) throw declaredConflict(`The team "${id}"`);
    return team;
  };
  return {
    async createTeam(id, change) {
      checkRoom(id, await rows.all());
      const now = system.now();
      const settings = teamSettings(id, change);
      const team = { id, settings, declared: false, createdAt: now, modifiedAt: now };
      await rows.put(team);
      return shown(team);
    },
    getTeam: async (id) => shown(await found(id)),
    async changeTeam(id, change) {
      const team = await changeable(id);
      const settings = teamSettings(id, change, team.settings);
      const modifiedAt = Math.max(system.now(), team.modifiedAt + 1);
      const next = { ...team, settings, modifiedAt };
      await rows.put(next);
      return shown(next);
    },
    async removeTeam(id) {
      const former = await shown(await changeable(id));
      const { keys } = former;
      if (keys > 0) {
        throw new ApiError("conflict", {
          message: `The team "${id}" has ${keys === 1 ? "a virtual key" : `${keys} virtual keys`}: delete them first, or give them another team`,
        });
      }
      await rows.remove(id, [ledger.forget(teamScope(id))]);
      return former;
    },
    async listTeams(search, offset, limit) {
      const wanted = search.toLowerCase();
      const teams = [...(await rows.all()).values()].filter(({ id, settings }) =>
        [id, settings.name].some((text) => text.toLowerCase().includes(wanted)),
      );
      const page = teams.slice(offset, offset + limit);
      return { teams: await Promise.all(page.map(shown)), total: teams.length };
    },
  };
}

async function countKeys(team: string, { name: actor, sql }: ActorContext): Promise<number> {
  const [row] = await sql.all(
    "SELECT COUNT(*) AS n FROM gateway_keys WHERE actor = ? AND team = ?",
    [actor, team],
  );
  return Number(row?.["n"] ?? 0);
}

/** Makes the error for a change of something that only the configuration changes. */
export function declaredConflict(what: string): ApiError {
  return new ApiError("conflict", {
    message: `${what} is declared in the configuration: change it there`,
  });
}

/** Throws `conflict` for an id that is taken, and where there are as many teams as may be. */
function checkRoom(id: string, teams: ReadonlyMap<string, Team>): void {
  if (teams.has(id)) throw new ApiError("conflict", { message: `The team "${id}" already exists` });
  if (teams.size < TEAM_LIMIT) return;
  throw new ApiError("conflict", {
    message: `The limit of ${TEAM_LIMIT} teams is reached: delete some first`,
  });
}

/** Returns a team by its id; throws an error of `kind` that names the nearest one. */
export function knownTeam(
  id: string,
  teams: ReadonlyMap<string, Team>,
  kind: "not_found" | "invalid_request",
): Team {
  const team = teams.get(id);
  if (team !== undefined) return team;
  const text = `There is no team "${id.slice(0, 64)}" in this account${didYouMean(id, [...teams.keys()])}`;
  throw new ApiError(kind, { message: kind === "not_found" ? text : `team: ${text}` });
}
