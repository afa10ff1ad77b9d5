import type { Hono } from "hono";
import * as v from "valibot";
import { kebab } from "../entity/kebab.ts";
import type { ReplayFilter } from "../entity/replay-filter.ts";
import { webhookIndex } from "../entity/webhook-index.ts";
import { readJson } from "../http/body.ts";
import { envelope } from "../http/envelope.ts";
import { checkAccount, type ManagementDeps } from "./management-deps.ts";
import { instantText } from "./outbound/outbound-routes.ts";

const instant = v.optional(instantText);
const text = v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(1024)));
/** Body of `POST …/replays`. An unknown filter would have meant fewer. */
export const entityReplayInput: v.GenericSchema<unknown, ReplayFilter> = v.pipe(
  v.strictObject({
    of: v.picklist(["events", "dead-letters"]),
    agent: text,
    entity: text,
    source: text,
    type: text,
    since: instant,
    until: instant,
  }),
  v.check(
    ({ since = "", until }) => until === undefined || since <= until,
    'since: Expected a time that is not after "until"',
  ),
);

/** Adds the routes of replays over many entities below `base`. */
export function replayRoutes(app: Hono, base: string, deps: ManagementDeps): void {
  const { edit, platform, read, sources } = deps;
  const index = (): ReturnType<typeof webhookIndex> => webhookIndex(platform.actors);
  app.post(`${base}/replays`, edit, async (c) => {
    checkAccount(c, deps);
    const { agent, ...input } = await readJson(c, entityReplayInput, { platform });
    const filter = agent === undefined ? input : { ...input, agent: kebab(agent) };
    const { source } = filter;
    const owners =
      source === undefined ? null : (sources.get(source)?.ownership.owners ?? [source]);
    return envelope(await index().createReplay(filter, owners), { status: 202 });
  });
  app.get(`${base}/replays`, read, async (c) => {
    checkAccount(c, deps);
    return envelope(await index().listReplays());
  });
  app.get(`${base}/replays/:id`, read, async (c) => {
    checkAccount(c, deps);
    return envelope(await index().getReplay(c.req.param("id")));
  });
  app.post(`${base}/replays/:id/cancel`, edit, async (c) => {
    checkAccount(c, deps);
    return envelope(await index().cancelReplay(c.req.param("id")));
  });
}
