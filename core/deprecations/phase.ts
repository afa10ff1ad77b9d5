import { ApiError } from "../http/api-error.ts";
import { formatInstant, parseInstant } from "../http/fields/instant.ts";
import { didYouMean } from "../http/fields/nearest.ts";
import type { DeprecationEntry } from "./table/entry.ts";

/** The stage that a deprecated thing has reached. */
export type Phase = "upcoming" | "deprecated" | "brownout" | "retired";

/**
 * The behaviour after the cut-off: `warn` = headers only, `translate` = rewrite exactly translatable requests and
 * refuse the rest, `refuse` = refuse, `strict` = refuse already before the cut-off (for CI), `off` = nothing at all.
 */
export type DeprecationMode = "warn" | "translate" | "refuse" | "strict" | "off";

/** A planned outage before the cut-off; instants in RFC 3339. */
export interface Brownout {
  readonly start: string;
  readonly end: string;
}

/**
 * The outages of one entry: its own windows, or `"progressive"`: 1, 1, 4, 8 and 24 hours, at 28, 21, 14, 7 and 3 days
 * before the cut-off. The hour of the day depends on the entry, so that not everything goes dark at once.
 */
export type Brownouts = readonly Brownout[] | "progressive";

/** An entry with its dates as Unix ms and the settings that apply to it. */
export interface ScheduledEntry extends DeprecationEntry {
  readonly deprecatedAt: number;
  /** Null = never enforced. */
  readonly enforceAt: number | null;
  readonly mode: DeprecationMode;
  readonly brownouts: readonly { readonly start: number; readonly end: number }[];
}

/** Settings by entry id or by row; the id wins. */
export type PerEntry<T> = Readonly<Record<string, T>>;

/** Options of {@link schedule}. */
export interface ScheduleOptions {
  /** @default "translate" */
  readonly mode?: DeprecationMode | undefined;
  readonly modes?: PerEntry<DeprecationMode> | undefined;
  /** Other cut-off days (`YYYY-MM-DD`, or an instant); null = never. */
  readonly eolOverrides?: PerEntry<string | null> | undefined;
  readonly brownouts?: PerEntry<Brownouts> | undefined;
}

const MODES: readonly DeprecationMode[] = ["warn", "translate", "refuse", "strict", "off"];

/** Applies settings to a table. Throws `ApiError` (`invalid_options`) that names each setting that cannot be right. */
export function schedule(
  table: readonly DeprecationEntry[],
  options: ScheduleOptions = {},
): ScheduledEntry[] {
  const { mode = "translate", modes = {}, eolOverrides = {}, brownouts = {} } = options;
  const known = [...new Set(table.flatMap((entry) => [entry.id, entry.row]))];
  for (const id of [modes, eolOverrides, brownouts].flatMap((setting) => Object.keys(setting))) {
    if (!known.includes(id)) throw invalid(`Unknown deprecation "${id}"${didYouMean(id, known)}`);
  }
  for (const one of [mode, ...Object.values(modes)]) {
    if (!MODES.includes(one))
      throw invalid(
        `Unknown mode "${one}"${didYouMean(one, MODES)} It is one of ${MODES.join(", ")}`,
      );
  }
  return table.map((entry) => {
    const override = of(eolOverrides, entry);
    const enforceFrom = override === undefined ? entry.enforceFrom : override;
    const deprecatedAt = instant(entry.date ?? entry.eol ?? "");
    const enforceAt = enforceFrom === null ? null : instant(enforceFrom);
    if (enforceAt !== null && enforceAt < deprecatedAt) {
      throw invalid(`The cut-off of ${entry.id} must not be earlier than its deprecation`);
    }
    return {
      ...entry,
      enforceFrom,
      deprecatedAt,
      enforceAt,
      mode: of(modes, entry) ?? mode,
      brownouts: windows(of(brownouts, entry) ?? [], entry, enforceAt),
    };
  });
}

/** The phase at `now` (Unix ms). The instant of the cut-off itself is already `retired`. */
export function phase(entry: ScheduledEntry, now: number): Phase {
  if (entry.enforceAt !== null && now >= entry.enforceAt) return "retired";
  if (brownoutEnd(entry, now) !== null) return "brownout";
  return now < entry.deprecatedAt ? "upcoming" : "deprecated";
}

/** The end of a brownout that is on at this moment (Unix ms); null when there is none. */
export function brownoutEnd(entry: ScheduledEntry, now: number): number | null {
  return entry.brownouts.find(({ start, end }) => now >= start && now < end)?.end ?? null;
}

/** Whether the old form is refused or gone at `now`. */
export function isEnforced(entry: ScheduledEntry, now: number): boolean {
  if (entry.mode === "off" || entry.mode === "warn") return false;
  return (entry.mode === "strict" && entry.enforceAt !== null) || phase(entry, now) === "retired";
}

const PROGRESSION = [
  { daysBefore: 28, hours: 1 },
  { daysBefore: 21, hours: 1 },
  { daysBefore: 14, hours: 4 },
  { daysBefore: 7, hours: 8 },
  { daysBefore: 3, hours: 24 },
] as const;
const HOUR = 3_600_000;

function windows(
  brownouts: Brownouts,
  { id, kind }: DeprecationEntry,
  enforceAt: number | null,
): ScheduledEntry["brownouts"] {
  if (brownouts.length === 0) return [];
  if (kind !== "endpoint")
    throw invalid(`A brownout of ${id} has no effect: only a whole endpoint can go dark`);
  if (typeof brownouts !== "string") {
    return brownouts.map(({ start, end }) => windowOf(id, instant(start), instant(end), enforceAt));
  }
  if (brownouts !== "progressive")
    throw invalid(`Brownouts of ${id}: expected "progressive" or windows [{ start, end }]`);
  if (enforceAt === null) throw invalid(`A progressive brownout of ${id} needs a cut-off`);
  let hour = 0;
  for (let i = 0; i < id.length; i++) hour = (hour * 31 + id.charCodeAt(i)) % 24;
  return PROGRESSION.map(({ daysBefore, hours }) => {
    const start = enforceAt - (daysBefore * 24 - hour) * HOUR;
    return { start, end: start + hours * HOUR };
  });
}

function windowOf(
  id: string,
  start: number,
  end: number,
  enforceAt: number | null,
): { readonly start: number; readonly end: number } {
  const shown = `from ${formatInstant(start)} to ${formatInstant(end)}`;
  if (end <= start) throw invalid(`A brownout of ${id} ends before it begins: ${shown}`);
  if (enforceAt !== null && end > enforceAt)
    throw invalid(
      `A brownout of ${id} ends after the cut-off ${formatInstant(enforceAt)}: ${shown}`,
    );
  return { start, end };
}

function of<T>(settings: PerEntry<T>, { id, row }: DeprecationEntry): T | undefined {
  return Object.hasOwn(settings, id) ? settings[id] : settings[row];
}

function instant(text: string): number {
  const at = parseInstant(text);
  if (at === null) throw invalid(`Invalid date "${text}": use YYYY-MM-DD`);
  return at;
}

function invalid(message: string): ApiError {
  return new ApiError("invalid_options", { message });
}
