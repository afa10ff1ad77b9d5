import type { Hono } from "hono";
import { listingRoutes } from "./listing.ts";
import { compile, type DeprecationsOptions } from "./options.ts";

export { checkTable, shadowedRoutes } from "./table/check-table.ts";
export type {
  DeprecationClass,
  DeprecationEntry,
  DeprecationKind,
  DeprecationWhere,
  Replacement,
} from "./table/entry.ts";
export { defineDeprecation, type OwnDeprecation, type OwnPlace } from "./table/define.ts";
export { compatProxy, type CompatProxyOptions } from "./compat-proxy.ts";
export { deprecateDocument, type DocumentOptions, type Marked } from "./deprecate-document.ts";
export type { ListedEntry } from "./page.ts";
export { deprecationsMiddleware, withDeprecations } from "./middleware.ts";
export type { DeprecationsOptions, RefusedRequest } from "./options.ts";
export type {
  Brownout,
  Brownouts,
  DeprecationMode,
  EntrySettings,
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
export type { CallRewriting, NewCall, OldCall } from "./translate/endpoint-calls.ts";
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
 * Serves `GET /deprecations` (the table, each entry with its present phase; `?phase=retired` selects a phase) and
 * `GET /deprecations/:id`: JSON for programs, a page for browsers. Both are public and reveal nothing about the host.
 *
 * @example
 * ```ts
 * import { deprecations } from "causey/deprecations";
 *
 * const app = deprecations({ basePath: "" });
 * (await app.request("/deprecations")).status; // → 200
 * ```
 */
export function deprecations(options: DeprecationsOptions): Hono {
  return listingRoutes(compile(options), options.platform);
}
