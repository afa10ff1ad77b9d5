import { type Context, Hono } from "hono";
import { type Auth, authorize, requesterId } from "../../auth/authorize.ts";
import { ApiError, invalidRequest } from "../../http/api-error.ts";
import { envelope } from "../../http/envelope.ts";
import { readJson } from "../../http/fields/body.ts";
import { formatInstant } from "../../http/fields/instant.ts";
import { checkWholeQuery } from "../../http/fields/query.ts";
import { didYouMean } from "../../text/nearest.ts";
import { closeRoutes } from "../../http/routes.ts";
import type { Platform } from "../../ports.ts";
import { OWN_DOCS } from "../options.ts";
import { type EntrySettings, type PerEntry, schedule } from "../phase.ts";
import type { DeprecationEntry } from "../table/entry.ts";
import type { LiveSettings } from "./live-settings.ts";
import type { StoredSettings } from "./settings-actor.ts";
import { entrySettingsSchema } from "./settings-schema.ts";

/** The dependencies of {@link settingsRoutes}. */
interface SettingsRoutesDeps {
  readonly platform: Platform;
  readonly auth: Auth;
  readonly table: readonly DeprecationEntry[];
  readonly live: LiveSettings;
}

/** Stored settings, as the API shows them. */
export interface ShownSettings {
  readonly id: string;
  readonly settings: EntrySettings;
  readonly changed_on: string;
  readonly changed_by: string;
}

/**
 * `GET /deprecations/settings`, `PUT` and `DELETE /deprecations/settings/:id`: what holds for an entry or a row while the
 * servers run, for all of them from the next request on. It is the installation's, so it takes a token for all accounts.
 */
export function settingsRoutes({ platform, auth, table, live }: SettingsRoutesDeps): Hono {
  const app = new Hono();
  const root = `${OWN_DOCS}/settings`;
  const guard = authorize(auth, "Deprecations Edit", "*");
  const ids = [...new Set(table.flatMap(({ id, row }) => [id, row]))];
  const idOf = (c: Context): string => {
    const id = c.req.param("id") ?? "";
    if (ids.includes(id)) return id;
    const asked = id.slice(0, 64);
    const message = `There is no deprecation "${asked}"${didYouMean(asked, ids)}`;
    throw new ApiError("no_route", { message });
  };
  const audit = (c: Context, id: string, settings: EntrySettings | null): void => {
    platform.log("info", "Settings of a deprecation changed", {
      id,
      settings: JSON.stringify(settings),
      by: requesterId(c),
    });
  };
  app.get(root, guard, async (c) => {
    checkWholeQuery(c, []);
    const all = (await live.stored()).map(shown);
    return envelope(all, { resultInfo: { count: all.length, total_count: all.length } });
  });
  app.put(`${root}/:id`, guard, async (c) => {
    const id = idOf(c);
    const settings = await readJson(c, entrySettingsSchema, { platform });
    checkSchedule(table, await live.changed(id, settings));
    const stored = {
      id,
      settings,
      changedAt: platform.system.now(),
      changedBy: requesterId(c),
    };
    await live.store.set(stored);
    audit(c, id, settings);
    return envelope(shown(stored));
  });
  app.delete(`${root}/:id`, guard, async (c) => {
    const id = idOf(c);
    checkSchedule(table, await live.changed(id, null));
    if (!(await live.store.remove(id)))
      throw new ApiError("no_route", { message: `No settings of "${id}" were stored` });
    audit(c, id, null);
    return envelope({ id });
  });
  closeRoutes(app, [`${root}/*`], "api", platform);
  return app;
}

/** Refuses settings that together with the others cannot be right. */
function checkSchedule(
  table: readonly DeprecationEntry[],
  settings: PerEntry<EntrySettings>,
): void {
  try {
    schedule(table, { settings });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw invalidRequest(error.message);
  }
}

function shown({ id, settings, changedAt, changedBy }: StoredSettings): ShownSettings {
  return { id, settings, changed_on: formatInstant(changedAt), changed_by: changedBy };
}
