import { ApiError } from "../http/api-error.ts";
import { checkTable } from "./check-table.ts";
import { type DeprecationEntry, expandRow, type Row } from "./entry.ts";
import { accessApps } from "./table/access-apps.ts";
import { accounts, organizations } from "./table/accounts.ts";
import { devices } from "./table/devices.ts";
import { dnsRecords, dnsSettings } from "./table/dns-records.ts";
import { firewall } from "./table/firewall.ts";
import { protocol } from "./table/protocol.ts";
import { radar } from "./table/radar.ts";
import { zoneSettings } from "./table/zone-settings.ts";

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

/** Every announced deprecation, as data: 144 entries (docs/compatibility.md). */
export const deprecationTable: readonly DeprecationEntry[] = rows.flatMap(expandRow);

/**
 * The table with further entries, e.g. a host's own deprecations.
 * Throws `ApiError` (`invalid_options`) that names what is wrong with them.
 */
export function extend(
  table: readonly DeprecationEntry[],
  entries: readonly DeprecationEntry[],
): readonly DeprecationEntry[] {
  const extended = [...table, ...entries];
  const problems = checkTable(extended);
  if (problems.length === 0) return extended;
  throw new ApiError("invalid_options", { message: `Deprecation table: ${problems.join("; ")}` });
}
