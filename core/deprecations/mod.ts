import { Hono } from "hono";
import { envelope } from "../http/envelope.ts";
import { routedPath } from "../http/mount-path.ts";
import { closeRoutes } from "../http/routes.ts";
import { below, compile, type DeprecationsOptions, OWN_DOCS } from "./options.ts";
import { type Phase, phase, type ScheduledEntry } from "./phase.ts";
import { documentationUrl, type SignalPlace } from "./signal.ts";

export { checkTable, shadowedRoutes } from "./table/check-table.ts";
export type {
  DeprecationClass,
  DeprecationEntry,
  DeprecationKind,
  DeprecationWhere,
  Replacement,
} from "./table/entry.ts";
export { defineDeprecation, type OwnDeprecation, type OwnPlace } from "./table/define.ts";
export { deprecationsMiddleware, withDeprecations } from "./middleware.ts";
export type { DeprecationsOptions, RefusedRequest } from "./options.ts";
export type {
  Brownout,
  Brownouts,
  DeprecationMode,
  PerEntry,
  Phase,
  ScheduleOptions,
} from "./phase.ts";
export { deprecationTable, extend } from "./table/table.ts";
export {
  type AccessApp,
  destinationsToDomains,
  domainsToDestinations,
} from "./translate/access-destinations.ts";
export {
  type FlatteningVocabulary,
  fromFlattenAllCnames,
  toFlattenAllCnames,
} from "./translate/cname-flattening.ts";
export {
  type FanOutView,
  type FilterEntry,
  type FilterPlan,
  planFilters,
  usedFilters,
} from "./translate/dns-filters.ts";
export { type ChainedError, unwrapErrorChain, wrapErrorChain } from "./translate/error-chain.ts";
export { type ListedRecord, type MergedPage, mergeFanOut } from "./translate/dns-filters.ts";
export {
  addSrvData,
  type DnsRecord,
  dropSrvData,
  hasSrvData,
  splitSrvName,
  type SrvName,
} from "./translate/srv-data.ts";

/**
 * `GET /deprecations`: the whole table as JSON, each entry with its phase right now. Public, as documentation is;
 * it says nothing about the host.
 */
export function deprecations(options: DeprecationsOptions): Hono {
  const { entries, now, place } = compile(options);
  const app = new Hono();
  app.get(OWN_DOCS, (c) => {
    const at = now();
    const here = below(routedPath(c, `${place.basePath}${OWN_DOCS}`), place);
    return envelope(
      entries.map((entry) => show(entry, at, here)),
      {
        resultInfo: { count: entries.length, total_count: entries.length },
      },
    );
  });
  if (options.platform !== undefined) closeRoutes(app, [], "api", options.platform);
  return app;
}

/** An entry of the table as `GET /deprecations` shows it. */
export interface ListedEntry extends Pick<
  ScheduledEntry,
  | "id"
  | "row"
  | "kind"
  | "class"
  | "mode"
  | "date"
  | "eol"
  | "methods"
  | "path"
  | "fields"
  | "where"
  | "replacement"
  | "rule"
> {
  readonly phase: Phase;
  /** RFC 3339; null if it is never refused. */
  readonly enforce_from: string | null;
  readonly documentation_url: string;
}

function show(entry: ScheduledEntry, now: number, place: SignalPlace): ListedEntry {
  const { id, row, kind, date, eol, methods, path, fields, where, replacement, rule, mode } = entry;
  return {
    id,
    row,
    kind,
    class: entry.class,
    phase: phase(entry, now),
    mode,
    date,
    eol,
    enforce_from:
      entry.enforceAt === null
        ? null
        : new Date(entry.enforceAt).toISOString().replace(".000Z", "Z"),
    methods,
    path,
    fields,
    where,
    replacement,
    rule,
    documentation_url: documentationUrl(entry, place),
  };
}
