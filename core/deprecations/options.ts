import type { Auth } from "../auth/authorize.ts";
import type { BodyPlatform } from "../http/arriving-body.ts";
import { type ContentDecoding, contentDecoding } from "../http/body/content-decoder.ts";
import { invalidOptions } from "../http/api-error.ts";
import { parseInstant } from "../http/fields/instant.ts";
import { nearest } from "../text/nearest.ts";
import { checkMountPath } from "../http/mount-path.ts";
import type { Log, Platform } from "../ports.ts";
import type { NowOrLater } from "../work/now-or-later.ts";
import { checkTable } from "./table/check-table.ts";
import type { DeprecationEntry } from "./table/entry.ts";
import { type Match, matcher } from "./table/matcher.ts";
import {
  type EntrySettings,
  type PerEntry,
  schedule,
  type ScheduledEntry,
  type ScheduleOptions,
} from "./phase.ts";
import type { SignalPlace } from "./signal.ts";
import { deprecationTable } from "./table/table.ts";

/** Options of the deprecation routes and of the middleware; all have defaults. */
export interface DeprecationsOptions extends Omit<ScheduleOptions, "settings"> {
  /** Provides clock and log, and counts inspected bodies against the memory for bodies. */
  readonly platform?: Pick<Platform, "system" | "log" | "bodies">;
  /**
   * The current time: an RFC 3339 instant or a day to pin it (tests, CI), or a function that returns Unix ms.
   * @default the platform's clock; without a platform the runtime's
   */
  readonly clock?: string | (() => number) | undefined;
  /**
   * Settings by entry id or by row; an id's settings win. A function is called at each request that the table concerns, so
   * settings can change while the server runs. Invalid ones are logged, and the previous ones stay. @default {}
   */
  readonly settings?: PerEntry<EntrySettings> | (() => NowOrLater<PerEntry<EntrySettings>>);
  /** Path of the API root; empty for the root of the host. @default "/client/v4" */
  readonly basePath?: string;
  /** The path prefix that a host or a proxy removes before this app sees the request; links include it. @default "" */
  readonly mountPath?: string | undefined;
  /** Page that documents the entries, with their ids as fragments. @default `${mountPath}${basePath}/deprecations` */
  readonly docs?: string;
  /** The entries, e.g. from `defineDeprecation()`; `extend()` adds entries to a table. @default deprecationTable */
  readonly entries?: readonly DeprecationEntry[];
  /**
   * Answers callers without a valid token with 401 instead of a refusal, so that they learn nothing about the host.
   * @default "off"
   */
  readonly auth?: Auth;
  /**
   * Whether the host serves a route; it then always wins over a retired endpoint. `path` is the pathname below the API root.
   * @default Hono's router says so, or the answer does: 404 and 405 mean no
   */
  readonly isMounted?: (method: string, path: string) => boolean;
  /**
   * The host's own `fetch`, for calls that become several requests, such as a comma list of names.
   * @default `next` of `withDeprecations()`; in Hono such requests are refused
   */
  readonly fetch?: (request: Request) => Response | Promise<Response>;
  /**
   * Pins clients to a day, `YYYY-MM-DD`: by the id of their token (this needs `auth`), or by a function of the request that
   * returns the day or null. A pinned client gets the fields back that left responses later; the header `Api-Compat-Date`
   * of a request outranks it. @default {}
   */
  readonly pins?:
    | Readonly<Record<string, string>>
    | ((request: Request) => NowOrLater<string | null>);
  /**
   * Makes the answer of a refusal, in the form of the host's API; causey adds the headers of the refusal.
   * @default the error envelope of the API
   */
  readonly respond?: (refused: RefusedRequest) => Response;
}

/** A refusal, for `respond`. */
export interface RefusedRequest {
  /** 410 for an endpoint, 400 for a parameter or a field. */
  readonly status: number;
  /** Stable number of the kind of refusal: 10410 retired, 10411 brownout, 10412 parameter or field. */
  readonly code: number;
  /** What ended, when, and what to use instead. */
  readonly message: string;
  readonly entry: DeprecationEntry;
}

/** Options, checked and compiled. */
export interface Deprecations {
  /** Those with the settings of this moment; null where settings do not change. */
  readonly present: (() => Promise<Deprecations>) | null;
  readonly entries: readonly ScheduledEntry[];
  readonly match: Match<ScheduledEntry>;
  /** The rule that declines requests with two kinds of framing; null when it is off. */
  readonly framing: ScheduledEntry | null;
  readonly now: () => number;
  readonly place: SignalPlace;
  readonly auth: Auth;
  readonly isMounted: DeprecationsOptions["isMounted"];
  readonly respond: DeprecationsOptions["respond"];
  readonly pins: DeprecationsOptions["pins"];
  /** Lets the host answer further requests; null where it cannot be asked. */
  readonly ask: ((request: Request) => Promise<Response>) | null;
  /** The encodings of responses that can be read here. */
  readonly decoding: ContentDecoding;
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
    respond,
    pins,
    fetch,
  } = options;
  const faults = checkOptions(options);
  if (faults.length > 0) throw invalidOptions(faults.join("; "));
  // The announced table was checked by the tests.
  const problems = table === deprecationTable ? [] : checkTable(table);
  if (problems.length > 0) throw invalidOptions(`Deprecation table: ${problems.join("; ")}`);
  const mountPath = checkMountPath(options.mountPath);
  const shared = {
    now: clockOf(options),
    place: {
      docs: options.docs ?? `${mountPath}${basePath}${OWN_DOCS}`,
      basePath,
      mountPath,
    },
    auth,
    isMounted,
    respond,
    pins,
    ask: fetch === undefined ? null : async (request: Request) => fetch(request),
    decoding: contentDecoding(options.platform?.system ?? {}),
    platform: options.platform,
  };
  const { mode, settings } = options;
  const withSettings = (own: PerEntry<EntrySettings> = {}): Deprecations => ({
    ...shared,
    ...found(schedule(table, { mode, settings: own }), ({ mode: one }) => one !== "off"),
    present: null,
  });
  if (typeof settings !== "function") return withSettings(settings);
  const every = found(schedule(table, { mode }), () => true);
  return { ...shared, ...every, present: presentOf(settings, withSettings, options.platform?.log) };
}

/** The entries and the ways to find them in requests. */
function found(
  entries: readonly ScheduledEntry[],
  isActive: (entry: ScheduledEntry) => boolean,
): Pick<Deprecations, "entries" | "match" | "framing"> {
  const active = entries.filter(isActive);
  return {
    entries,
    match: matcher(active.flatMap((entry) => [entry, ...namedEntry(entry)])),
    framing:
      active.find((entry) => entry.path === "/*" && entry.where === "request headers") ?? null,
  };
}

type LiveSettings = Extract<DeprecationsOptions["settings"], () => unknown>;

/** Compiles settings when they are others than before. */
function presentOf(
  settings: LiveSettings,
  withSettings: (own: PerEntry<EntrySettings>) => Deprecations,
  log: Log | undefined,
): () => Promise<Deprecations> {
  let last: PerEntry<EntrySettings> | undefined;
  let compiled: Deprecations | undefined;
  let isLogged = false;
  return async () => {
    try {
      const own = await settings();
      if (own !== last || compiled === undefined) {
        last = own;
        compiled = withSettings(own);
      }
      isLogged = false;
    } catch (error) {
      // Without any settings a route could end that they extend.
      if (last === undefined) throw error;
      const message =
        "The settings of deprecations cannot be read, or cannot be right: those before stay";
      // Not with each request: the reading may fail for long.
      if (!isLogged) log?.("error", message, { error: String(error) });
      isLogged = true;
    }
    return (compiled ??= withSettings({}));
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

/** An entry as a field of the route in whose body it may be named. */
function namedEntry(entry: ScheduledEntry): ScheduledEntry[] {
  const { namedIn } = entry;
  if (namedIn === undefined) return [];
  const { on, isCarriedBy, subject, instead } = namedIn;
  const [method = "", path = ""] = on.split(" ");
  return [
    {
      ...entry,
      kind: "field",
      where: "request",
      methods: [method],
      path,
      fields: [subject],
      rule: instead,
      isCarriedBy,
      pastCutOff: "refuse",
    },
  ];
}

function clockOf({ clock, platform }: DeprecationsOptions): () => number {
  if (typeof clock === "function") return clock;
  if (typeof clock === "string") {
    const pinned = parseInstant(clock);
    if (pinned !== null) return () => pinned;
    throw invalidOptions(`Invalid clock "${clock}": use YYYY-MM-DD or an RFC 3339 instant`);
  }
  // eslint-disable-next-line no-restricted-properties -- five fields must do for a host that has no platform
  return platform === undefined ? Date.now : () => platform.system.now();
}

const OPTIONS = [
  "platform",
  "clock",
  "basePath",
  "mountPath",
  "docs",
  "entries",
  "auth",
  "isMounted",
  "respond",
  "pins",
  "fetch",
  "mode",
  "settings",
] as const satisfies readonly (keyof DeprecationsOptions)[];

/** Mistakes in options that would otherwise only do nothing. */
function checkOptions(options: DeprecationsOptions): string[] {
  const { basePath = "", entries = [] } = options;
  const problems = [...misspelt(options), ...pinFaults(options)];
  const path = basePath.replaceAll(/^\/+|\/+$/g, "");
  const right = path === "" ? "" : `/${path}`;
  if (basePath !== right) problems.push(`basePath "${basePath}": write "${right}"`);
  if (!Array.isArray(entries))
    problems.push("entries: expected a list, e.g. [defineDeprecation({ … })]");
  return problems;
}

function pinFaults({ pins = {}, auth = "off" }: DeprecationsOptions): string[] {
  if (typeof pins === "function") return [];
  const days = Object.entries(pins);
  const faults = days.flatMap(([id, day]) =>
    isPinDay(day) ? [] : [`pins of "${id}": expected a day such as "2024-06-01", got "${day}"`],
  );
  if (auth === "off" && days.length > 0)
    faults.push("pins by token need auth; without it write a function of the request");
  return faults;
}

/** Whether a text is a day that a client can be pinned to. */
export function isPinDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && parseInstant(text) !== null;
}

/** Other names pass: a host hands on what it has. */
function misspelt(options: DeprecationsOptions): string[] {
  return Object.keys(options).flatMap((name) => {
    const meant = OPTIONS.includes(name as never) ? undefined : nearest(name, OPTIONS);
    return meant === undefined ? [] : [`Unknown option "${name}": did you mean "${meant}"?`];
  });
}
