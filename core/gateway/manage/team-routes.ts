import type { Context } from "hono";
import type { ActorClient } from "../../actors/actor-client.ts";
import { checkAccountId } from "../../auth/accounts.ts";
import { envelope } from "../../http/envelope.ts";
import { readJson } from "../../http/fields/body.ts";
import type { TeamMethods } from "../account/keys/team-methods.ts";
import { teamChange, teamCreate, teamView } from "../account/keys/team.ts";
import {
  gatewayNameOf,
  guards,
  idOf,
  listAnswer,
  MANAGEMENT_ROOT,
  type ManagementRoutes,
  pageOfQuery,
} from "./context.ts";

/** The teams of an account: `…/teams`. */
export const teamRoutes: ManagementRoutes = (app, { keys: store, auth, platform }) => {
  const { read, edit } = guards(auth);
  const path = `${MANAGEMENT_ROOT}/teams`;
  const teams = (c: Context): ActorClient<TeamMethods> => store.at(gatewayNameOf(c).account);

  app.get(path, read, async (c) => {
    const page = pageOfQuery(c, ["search"]);
    const search = (c.req.query("search") ?? "").slice(0, 128);
    const listed = await teams(c).listTeams(search, page.offset, page.perPage);
    return listAnswer(listed.teams.map(teamView), page, listed.total);
  });
  app.post(path, edit, async (c) => {
    checkAccountId(gatewayNameOf(c).account);
    const { id, ...settings } = await readJson(c, teamCreate, { platform });
    return envelope(teamView(await teams(c).createTeam(id, settings)));
  });
  app.get(`${path}/:id`, read, async (c) => envelope(teamView(await teams(c).getTeam(idOf(c)))));
  for (const method of ["put", "patch"] as const) {
    app[method](`${path}/:id`, edit, async (c) => {
      const change = await readJson(c, teamChange, { platform });
      return envelope(teamView(await teams(c).changeTeam(idOf(c), change)));
    });
  }
  app.delete(`${path}/:id`, edit, async (c) =>
    envelope(teamView(await teams(c).removeTeam(idOf(c)))),
  );
};
