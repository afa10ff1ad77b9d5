import { invalidOptions } from "../../http/api-error.ts";
import { checkTable } from "./check-table.ts";
import { type DeprecationEntry, expandRow, type Row } from "./entry.ts";
import { accessApps } from "./access-apps.ts";
import { accounts, organizations } from "./accounts.ts";
import { devices } from "./devices.ts";
import { dnsRecords, dnsSettings } from "./dns-records.ts";
import { firewall } from "./firewall.ts";
import { protocol } from "./protocol.ts";
import { radar } from "./radar.ts";
import { zoneSettings } from "./zone-settings.ts";

const rows: readonly Row[] = [
  ...devices,
  ...accessApps,
  ...radar,
  ...firewall,
  ...dnsSettings,
  ...dnsRecords,
  ...zoneSettings,
  ...accounts,
  ...organizations,
  ...protocol,
];

/**
 * Every announced deprecation, as data: 144 entries (docs/compatibility.md).
 *
 * @example
 * ```ts
 * import { deprecationTable } from "causey/deprecations";
 *
 * deprecationTable.length; // → 144
 * ```
 */
export const deprecationTable: readonly DeprecationEntry[] = rows.flatMap(expandRow);

/**
 * The table with further entries, e.g. a host's own deprecations. Throws `ApiError` (`invalid_options`) that lists their
 * faults.
 *
 * @example
 * ```ts
 * import { defineDeprecation, deprecationTable, extend } from "causey/deprecations";
 *
 * const orders = defineDeprecation({
 *   id: "orders-v1",
 *   on: "GET /v1/orders",
 *   since: "2026-01-01",
 *   sunset: "2026-07-01",
 *   use: "GET /v2/orders",
 * });
 * extend(deprecationTable, [orders]).length; // → 145
 * ```
 */
export function extend(
  table: readonly DeprecationEntry[],
  entries: readonly DeprecationEntry[],
): readonly DeprecationEntry[] {
  const extended = [...table, ...entries];
  const problems = checkTable(extended);
  if (problems.length === 0) return extended;
  throw invalidOptions(`Deprecation table: ${problems.join("; ")}`);
}
