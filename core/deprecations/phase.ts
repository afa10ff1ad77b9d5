import { invalidOptions } from "../http/api-error.ts";
import { formatInstant, parseInstant } from "../http/fields/instant.ts";
import { choiceHint, didYouMean, unknownMembers } from "../text/nearest.ts";
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
  /** The same entry for reads, if it is of all methods and reads end later. */
  readonly forReads?: ScheduledEntry;
}

/** Settings by entry id or by row; the id wins. */
export type PerEntry<T> = Readonly<Record<string, T>>;

/** Settings of one entry, or of a row for all of its entries. */
export interface EntrySettings {
  /** Another end: a day or an instant (RFC 3339); null = never. @default that of the table */
  readonly end?: string | null;
  /** A later end than the present one. @default not extended */
  readonly extend?: string;
  /** The behaviour after the cut-off. @default that of the options */
  readonly mode?: DeprecationMode;
  /** Planned outages before the end, in which a live endpoint answers 410. @default [] */
  readonly brownouts?: Brownouts;
  /**
   * The end of reads (GET and HEAD), so that writes end first: a day or an instant; `"after"` lets reads go on until a day is set.
   * Reads have no brownouts then. @default with the writes
   */
  readonly reads?: string;
  /** Has no end and no brownouts while this is set; the end is only announced. @default false */
  readonly pause?: boolean;
}

/** Options of {@link schedule}. */
export interface ScheduleOptions {
  /** The behaviour of all entries after their cut-off. @default "translate" */
  readonly mode?: DeprecationMode | undefined;
  /** Settings by entry id or by row. @default {} */
  readonly settings?: PerEntry<EntrySettings>;
}

/** Most brownouts of one entry. */
export const WINDOWS = 50;

const MODES: readonly DeprecationMode[] = ["warn", "translate", "refuse", "strict", "off"];

const SETTINGS = [
  "end",
  "extend",
  "mode",
  "brownouts",
  "reads",
  "pause",
] as const satisfies readonly (keyof EntrySettings)[];

/** Applies settings to a table. Throws `ApiError` (`invalid_options`) that names each setting that cannot be right. */
export function schedule(
  table: readonly DeprecationEntry[],
  { mode = "translate", settings = {} }: ScheduleOptions = {},
): ScheduledEntry[] {
  checkMode(mode);
  const set = Object.entries(settings);
  const names =
    set.length === 0 ? [] : [...new Set(table.flatMap((entry) => [entry.id, entry.row]))];
  for (const [id, own] of set) {
    if (!names.includes(id))
      throw invalidOptions(`Unknown deprecation "${id}"${didYouMean(id, names)}`);
    const [unknown] = unknownMembers(own, SETTINGS);
    if (unknown !== undefined) throw invalidOptions(`Settings of "${id}": ${unknown}`);
    if (own.mode !== undefined) checkMode(own.mode);
  }
  // The days of a table are few, and reading them is most of the work.
  const known = new Map<string, number>();
  const dayOf = (day: string): number => {
    const at = known.get(day) ?? instant(day);
    known.set(day, at);
    return at;
  };
  return table.map((entry) => {
    const own = of(settings, entry);
    return own === null ? plainly(entry, mode, dayOf) : scheduled(entry, own, mode);
  });
}

/** Does {@link scheduled} without settings. */
function plainly(
  entry: DeprecationEntry,
  mode: DeprecationMode,
  dayOf: (day: string) => number,
): ScheduledEntry {
  const { id, enforceFrom: end } = entry;
  const deprecatedAt = dayOf(entry.date ?? entry.eol ?? "");
  const enforceAt = end === null ? null : dayOf(end);
  checkEnd(id, deprecatedAt, enforceAt);
  return { ...entry, deprecatedAt, mode, enforceAt, brownouts: [] };
}

function checkEnd(id: string, deprecatedAt: number, endAt: number | null): void {
  if (endAt !== null && endAt < deprecatedAt)
    throw invalidOptions(`The end of ${id} must not be earlier than its deprecation`);
}

function scheduled(
  entry: DeprecationEntry,
  settings: EntrySettings,
  usual: DeprecationMode,
): ScheduledEntry {
  const { end = entry.enforceFrom, extend, mode = usual, brownouts = [], reads } = settings;
  const deprecatedAt = instant(entry.date ?? entry.eol ?? "");
  const endAt = extended(entry.id, end === null ? null : instant(end), extend);
  checkEnd(entry.id, deprecatedAt, endAt);
  const dark = windows(brownouts, entry, endAt);
  const readsAt = reads === undefined ? endAt : endOfReads(entry.id, reads, endAt);
  const dated = { ...entry, deprecatedAt, mode };
  if (settings.pause === true) return { ...dated, enforceAt: null, brownouts: [] };
  const writes = { ...dated, enforceAt: endAt, brownouts: dark };
  if (reads === undefined) return writes;
  const forReads = { ...dated, enforceAt: readsAt, brownouts: [] };
  if (entry.methods.every((method) => method === "GET")) return forReads;
  return entry.methods.includes("*") ? { ...writes, forReads } : writes;
}

function extended(id: string, endAt: number | null, extend: string | undefined): number | null {
  if (extend === undefined) return endAt;
  const later = instant(extend);
  if (endAt === null || later <= endAt)
    throw invalidOptions(
      `extend of ${id}: ${formatInstant(later)} is not later than its end, ${endAt === null ? "never" : formatInstant(endAt)}`,
    );
  return later;
}

function endOfReads(id: string, reads: string, endAt: number | null): number | null {
  if (reads === "after") return null;
  const at = instant(reads);
  if (endAt === null || at < endAt)
    throw invalidOptions(
      `reads of ${id} end on ${formatInstant(at)}, before writes do; set "after" or a later day`,
    );
  return at;
}

function checkMode(mode: DeprecationMode): void {
  if (!MODES.includes(mode))
    throw invalidOptions(`Unknown mode "${mode}"${choiceHint(mode, MODES)}`);
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
export function isEnforced({ mode, enforceAt }: ScheduledEntry, now: number): boolean {
  if (enforceAt === null || mode === "off" || mode === "warn") return false;
  return mode === "strict" || now >= enforceAt;
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
    throw invalidOptions(`A brownout of ${id} has no effect: only a whole endpoint can go dark`);
  if (typeof brownouts !== "string") {
    if (brownouts.length > WINDOWS)
      throw invalidOptions(
        `${id} has ${brownouts.length} brownouts: at most ${WINDOWS} are allowed`,
      );
    return brownouts.map(({ start, end }) => windowOf(id, instant(start), instant(end), enforceAt));
  }
  if (brownouts !== "progressive")
    throw invalidOptions(`Brownouts of ${id}: expected "progressive" or windows [{ start, end }]`);
  if (enforceAt === null) throw invalidOptions(`A progressive brownout of ${id} needs an end`);
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
  if (end <= start) throw invalidOptions(`A brownout of ${id} ends before it begins: ${shown}`);
  if (enforceAt !== null && end > enforceAt)
    throw invalidOptions(
      `A brownout of ${id} ends after the end ${formatInstant(enforceAt)}: ${shown}`,
    );
  return { start, end };
}

/** The settings of an entry: each is that of its id, else that of its row. Null without any. */
function of(
  settings: PerEntry<EntrySettings>,
  { id, row }: DeprecationEntry,
): EntrySettings | null {
  const [ofRow, own] = [settings[row], settings[id]];
  return ofRow === undefined && own === undefined ? null : { ...ofRow, ...own };
}

function instant(text: string): number {
  const at = parseInstant(text);
  if (at === null) throw invalidOptions(`Invalid date "${text}": use YYYY-MM-DD`);
  return at;
}
