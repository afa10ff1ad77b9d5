import type { Auth } from "../auth/authorize.ts";
import type { BodyPlatform } from "../http/arriving-body.ts";
import { ApiError } from "../http/api-error.ts";
import { parseInstant } from "../http/fields/instant.ts";
import { checkMountPath } from "../http/mount-path.ts";
import type { Platform } from "../ports.ts";
import { checkTable } from "./table/check-table.ts";
import type { DeprecationEntry } from "./table/entry.ts";
import { type Match, matcher } from "./matcher.ts";
import { schedule, type ScheduledEntry, type ScheduleOptions } from "./phase.ts";
import { BULK_SETTINGS } from "./fields.ts";
import type { SignalPlace } from "./signal.ts";
import { deprecationTable } from "./table/table.ts";

/** Options of the deprecation routes and of the middleware; all have defaults. */
export interface DeprecationsOptions extends ScheduleOptions {
  /** Gives the time and the log, and counts inspected bodies among those in memory; not needed when `clock` is set. */
  readonly platform?: Pick<Platform, "system" | "log" | "bodies">;
  /**
   * The current time: an RFC 3339 instant or a day to pin it (tests, CI), or a function that returns Unix ms.
   * @default the platform's clock
   */
  readonly clock?: string | (() => number) | undefined;
  /** Path of the API root. @default "/client/v4" */
  readonly basePath?: string;
  /** The path prefix that a host or a proxy removes before this app sees the request; links include it. @default "" */
  readonly mountPath?: string | undefined;
  /** Page that documents the entries, with their ids as fragments. @default `${mountPath}${basePath}/deprecations` */
  readonly docs?: string;
  /** The entries; see `extend()` to add some. @default deprecationTable */
  readonly entries?: readonly DeprecationEntry[];
  /**
   * Answers strangers with 401 instead of a refusal, so that the table reveals nothing about a host to them.
   * @default "off"
   */
  readonly auth?: Auth;
  /**
   * Whether the host serves a route; it then always wins over a retired endpoint. `path` is the pathname below the API root.
   * @default asked from the router (Hono), or read from the answer: 404 and 405 mean no
   */
  readonly isMounted?: (method: string, path: string) => boolean;
}

/** Options, checked and compiled. */
export interface Deprecations {
  readonly entries: readonly ScheduledEntry[];
  readonly match: Match<ScheduledEntry>;
  /** The rule that declines requests with two kinds of framing; null when it is off. */
  readonly framing: ScheduledEntry | null;
  /** Zone settings that are gone, by their id: a bulk change must not contain one. */
  readonly goneSettings: ReadonlyMap<string, ScheduledEntry>;
  readonly now: () => number;
  readonly place: SignalPlace;
  readonly auth: Auth;
  readonly isMounted: DeprecationsOptions["isMounted"];
  /** The memory budget for inspected bodies; undefined for a host without a platform. */
  readonly platform: BodyPlatform | undefined;
}

/** Checks and compiles options. Throws `ApiError` (`invalid_options`) that names everything wrong with the table. */
export function compile(options: DeprecationsOptions): Deprecations {
  const {
    basePath = "/client/v4",
    entries: table = deprecationTable,
    auth = "off",
    isMounted,
  } = options;
  const problems = checkTable(table);
  if (problems.length > 0) throw invalid(`Deprecation table: ${problems.join("; ")}`);
  const entries = schedule(table, options);
  const active = entries.filter((entry) => entry.mode !== "off");
  const mountPath = checkMountPath(options.mountPath);
  return {
    entries,
    match: matcher(active),
    framing:
      active.find((entry) => entry.path === "/*" && entry.where === "request headers") ?? null,
    goneSettings: goneSettings(active),
    now: clockOf(options),
    place: {
      docs: options.docs ?? `${mountPath}${basePath}${OWN_DOCS}`,
      docsType: options.docs === undefined ? "application/json" : "text/html",
      basePath,
      mountPath,
    },
    auth,
    isMounted,
    platform: options.platform,
  };
}

/** The route of the table, below the API root. */
export const OWN_DOCS = "/deprecations";

/** An API root that lies below a path of the host; a page of documentation elsewhere stays where it is. */
export function below(path: string, place: SignalPlace): SignalPlace {
  const { docs, basePath, mountPath } = place;
  const isOwn = docs === `${mountPath}${basePath}${OWN_DOCS}`;
  return {
    ...place,
    docs: isOwn ? `${mountPath}${path}${basePath}${OWN_DOCS}` : docs,
    basePath: `${path}${basePath}`,
  };
}

function goneSettings(entries: readonly ScheduledEntry[]): Map<string, ScheduledEntry> {
  const prefix = `${BULK_SETTINGS}/`;
  const gone = entries.filter(
    ({ kind, path, class: group }) =>
      kind === "endpoint" && path?.startsWith(prefix) === true && (group === "C" || group === "D"),
  );
  return new Map(gone.map((entry) => [entry.path?.slice(prefix.length) ?? "", entry]));
}

function clockOf({ clock, platform }: DeprecationsOptions): () => number {
  if (typeof clock === "function") return clock;
  if (typeof clock === "string") {
    const pinned = parseInstant(clock);
    if (pinned !== null) return () => pinned;
    throw invalid(`Invalid clock "${clock}": use YYYY-MM-DD or an RFC 3339 instant`);
  }
  if (platform !== undefined) return () => platform.system.now();
  throw invalid("Deprecations need a clock: pass platform, or a clock that returns Unix ms");
}

function invalid(message: string): ApiError {
  return new ApiError("invalid_options", { message });
}
