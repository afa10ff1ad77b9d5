import { Hono } from "hono";
import type { ActorClient } from "../actors/actor-client.ts";
import { type Auth, authorize } from "../auth/authorize.ts";
import { envelope } from "../http/envelope.ts";
import { formatInstant } from "../http/fields/instant.ts";
import { checkWholeQuery } from "../http/fields/query.ts";
import { closeRoutes } from "../http/routes.ts";
import type { Platform } from "../ports.ts";
import type { DeprecatedUse } from "./deprecated-uses.ts";
import type { RequestCounting } from "./request-counting.ts";
import type { SignalsMethods } from "./signals-actor.ts";

/** The use of a deprecated entry, as the API shows it. */
export interface ShownUse {
  readonly entry: string;
  readonly token_id: string;
  readonly token_name: string;
  readonly client: string;
  readonly client_version: string;
  readonly count: number;
  /** Number of uses that were refused. */
  readonly refused: number;
  readonly first_used_on: string;
  readonly last_used_on: string;
  /** Uses by UTC day. */
  readonly days: Readonly<Record<string, number>>;
}

/** The dependencies of {@link usesRoutes}. */
interface UsesRoutesDeps {
  readonly platform: Platform;
  readonly accountId: string;
  readonly auth: Auth;
  /** Has the counts of all processes. */
  readonly actor: Pick<ActorClient<SignalsMethods>, "deprecated">;
  readonly counting: RequestCounting;
}

/**
 * `GET /accounts/:account_id/deprecations/uses`: the tokens that use deprecated entries of an account, the last use first.
 * Requests that name no account belong to the installation's own.
 */
export function usesRoutes({ platform, accountId, auth, actor, counting }: UsesRoutesDeps): Hono {
  const app = new Hono();
  const path = "/accounts/:account_id/deprecations/uses";
  app.get(path, authorize(auth, "Account Read"), async (c) => {
    checkWholeQuery(c, []);
    await counting.flush();
    const account = c.req.param("account_id");
    const uses = await actor.deprecated();
    const shown = uses.filter((use) => (use.account ?? accountId) === account).map(shownUse);
    return envelope(shown, { resultInfo: { count: shown.length, total_count: shown.length } });
  });
  closeRoutes(app, [], "api", platform);
  return app;
}

function shownUse({ id, token, name, client, version, ...use }: DeprecatedUse): ShownUse {
  return {
    entry: id,
    token_id: token,
    token_name: name,
    client,
    client_version: version,
    count: use.count,
    refused: use.refused,
    first_used_on: formatInstant(use.first),
    last_used_on: formatInstant(use.last),
    days: use.days,
  };
}
