import { isInRange, MOST_USD } from "../../http/fields/bounded-number.ts";
import { exactScalar, jsonSource } from "../../http/json/json-source.ts";
import { type Json, parsedObject } from "../../http/json.ts";
import { ApiError } from "../../http/api-error.ts";
import type { HeaderPair } from "../../ports.ts";
import { didYouMean } from "../../text/nearest.ts";
import { headerValue, isGatewayHeader } from "../wire/header-hygiene.ts";

/** Growth of the pause between attempts. */
export type Backoff = "constant" | "linear" | "exponential";

/** The controls that a request sets by `cf-aig-*` / `gw-aig-*` headers. */
export type Controls = {
  skipCache?: boolean;
  /** Seconds; 0 = do not cache. */
  cacheTtl?: number;
  cacheKey?: string;
  /** False = no answer to a question in other words. */
  semanticCache?: boolean;
  collectLog?: boolean;
  collectLogPayload?: boolean;
  /** At most five entries, as JSON text. */
  metadata?: string;
  customCost?: { perTokenIn: number; perTokenOut: number } | { total: number };
  eventId?: string;
  /** Milliseconds to the first bytes of the answer. */
  requestTimeout?: number;
  maxAttempts?: number;
  /** Milliseconds. */
  retryDelay?: number;
  backoff?: Backoff;
  /** Alias of the stored key to use. */
  byokAlias?: string;
  /** The conversation, and the turn in it, whose model the automatic router keeps. */
  sessionId?: string;
  turnId?: string;
  noSessionAffinity?: boolean;
  /** The models that the automatic router may choose; `*` in a model stands for anything but `/`. */
  allowedModels?: readonly string[];
  allowedProviders?: readonly string[];
  /** Headers of the gateway's family that it does not know, each with the near name. A newer client may send some. */
  unknown?: readonly string[];
};

const MONTH_SECONDS = 31 * 24 * 3600;

const CACHE_TTL_MINIMUM = 60;

const METADATA_ENTRIES = 5;

const LIST_ENTRIES = 64;

/** The two names of a gateway header, the one that outranks the other first. */
export type GatewayHeader = readonly [string, string];

/** The names of a gateway header, by what it is called without a prefix. */
export function named(name: string): GatewayHeader {
  return [`gw-aig-${name}`, `cf-aig-${name}`];
}

/** The value of a gateway header under either prefix; `gw-aig-` wins. */
export function gatewayHeader(
  headers: readonly HeaderPair[],
  [first, second]: GatewayHeader,
): string | null {
  return headerValue(headers, first) ?? headerValue(headers, second);
}

export const AUTHORIZATION: GatewayHeader = named("authorization");

export const GATEWAY_ID: GatewayHeader = named("gateway-id");

/** Reads the control headers; a malformed one is a 400 that names it. */
export function parseControls(headers: readonly HeaderPair[]): Controls {
  const controls: Controls = {};
  for (const [header, value] of headers) {
    const control = controlHeaders.get(header);
    if (control === undefined) {
      if (isGatewayHeader(header)) noteUnknown(controls, header);
      continue;
    }
    // A control can come under several names; only the highest-ranking one is read.
    const isOutranked = control.higher.some((other) => headerValue(headers, other) !== null);
    if (!isOutranked) control.parse(controls, value, header);
  }
  return controls;
}

/** Unknown headers that are named, and the characters of each. */
const UNKNOWN_LIMIT = 8;
const UNKNOWN_SHOWN = 64;

function noteUnknown(controls: Controls, header: string): void {
  const { unknown = [] } = controls;
  const name = header.slice("cf-aig-".length);
  if (otherNames.includes(name) || unknown.length >= UNKNOWN_LIMIT) return;
  const shown = header.slice(0, UNKNOWN_SHOWN);
  const prefix = header.slice(0, "cf-aig-".length);
  const known = [...Object.keys(parsers), ...otherNames].map((one) => prefix + one);
  controls.unknown = [...unknown, shown + didYouMean(shown, known)];
}

type Parse = (controls: Controls, value: string, name: string) => void;

const parsers: Readonly<Record<string, Parse>> = {
  "skip-cache": (controls, value, name) => (controls.skipCache = flag(value, name)),
  "cache-ttl": (controls, value, name) => {
    const ttl = integer(value, name, 0, MONTH_SECONDS);
    controls.cacheTtl = ttl === 0 ? 0 : Math.max(ttl, CACHE_TTL_MINIMUM);
  },
  "cache-key": (controls, value, name) => (controls.cacheKey = text(value, name, 1024)),
  "semantic-cache": (controls, value, name) => (controls.semanticCache = flag(value, name)),
  "collect-log": (controls, value, name) => (controls.collectLog = flag(value, name)),
  "collect-log-payload": (controls, value, name) =>
    (controls.collectLogPayload = flag(value, name)),
  metadata: (controls, value, name) => (controls.metadata = metadata(asUtf8(value), name)),
  "custom-cost": (controls, value, name) => (controls.customCost = customCost(value, name)),
  "byok-alias": (controls, value, name) => (controls.byokAlias = text(value, name, 64)),
  "session-id": (controls, value, name) => (controls.sessionId = text(value, name, 256)),
  "turn-id": (controls, value, name) => (controls.turnId = text(value, name, 256)),
  "no-session-affinity": (controls, value, name) =>
    (controls.noSessionAffinity = flag(value, name)),
  "allowed-models": (controls, value, name) => (controls.allowedModels = list(value, name)),
  "allowed-providers": (controls, value, name) => (controls.allowedProviders = list(value, name)),
  "event-id": (controls, value, name) => (controls.eventId = echoable(value, name, 256)),
  "request-timeout": (controls, value, name) =>
    (controls.requestTimeout = integer(value, name, 1, 86_400_000)),
  "max-attempts": (controls, value, name) => (controls.maxAttempts = integer(value, name, 1, 5)),
  "retry-delay": (controls, value, name) => (controls.retryDelay = integer(value, name, 0, 5000)),
  backoff: (controls, value, name) => {
    if (value !== "constant" && value !== "linear" && value !== "exponential") {
      throw misfit(name, value, '"constant", "linear" or "exponential"');
    }
    controls.backoff = value;
  },
};

/** Names of headers that other parts read, and of two settings of the hosted service. */
const otherNames: readonly string[] = [
  "authorization",
  "gateway-id",
  "otel-trace-id",
  "otel-parent-span-id",
  "zdr",
  "no-wholesale",
];

/** Old names of controls, from before they had a prefix. */
const aliases: ReadonlySet<string> = new Set(["skip-cache", "cache-ttl"]);

/** How a header's control is read, and the names of the same control that outrank it. */
interface ControlHeader {
  readonly parse: Parse;
  readonly higher: readonly string[];
}

const controlHeaders: ReadonlyMap<string, ControlHeader> = new Map(
  Object.entries(parsers).flatMap(([name, parse]) => {
    const names = [...named(name), ...(aliases.has(name) ? [`cf-${name}`] : [])];
    return names.map((header, rank) => [header, { parse, higher: names.slice(0, rank) }]);
  }),
);

function misfit(name: string, value: string, wanted: string): ApiError {
  return new ApiError("invalid_request", {
    message: `Header ${name}: expected ${wanted}, got "${value.slice(0, 64)}"`,
  });
}

function flag(value: string, name: string): boolean {
  const lower = value.trim().toLowerCase();
  if (lower !== "true" && lower !== "false") throw misfit(name, value, '"true" or "false"');
  return lower === "true";
}

function integer(value: string, name: string, minimum: number, maximum: number): number {
  const number = /^\d{1,12}$/.test(value.trim()) ? Number(value) : Number.NaN;
  if (!(number >= minimum && number <= maximum)) {
    throw misfit(name, value, `an integer from ${minimum} to ${maximum}`);
  }
  return number;
}

function text(value: string, name: string, maximum: number): string {
  if (value === "" || value.length > maximum)
    throw misfit(name, value, `1 to ${maximum} characters`);
  return value;
}

/** A text that comes back in a header of the answer, which steps can give as JSON (RFC 9110, section 5.5). */
function echoable(value: string, name: string, maximum: number): string {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return text(value, name, maximum);
  throw misfit(name, value, "characters that a header can hold");
}

/** Clients send UTF-8, whose bytes most runtimes hand over as one character each; other values stay as they are. */
function asUtf8(value: string): string {
  if (/^[\t\x20-\x7e]*$/.test(value) || /[^\t\x20-\xff]/.test(value)) return value;
  try {
    const bytes = Uint8Array.from(value, (byte) => byte.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return value;
  }
}

/** Names, separated by commas. */
function list(value: string, name: string): readonly string[] {
  const names = value.split(",", LIST_ENTRIES + 1).map((entry) => entry.trim());
  if (names.length <= LIST_ENTRIES && names.every((entry) => /^[!-+\--~]{1,256}$/.test(entry)))
    return names;
  throw misfit(name, value, `1 to ${LIST_ENTRIES} names, separated by commas`);
}

function object(value: string, name: string): Json {
  const found = parsedObject(value);
  if (found !== null) return found;
  throw misfit(name, value, "a JSON object");
}

function metadata(value: string, name: string): string {
  const entries: string[] = [];
  for (const [key, entry] of Object.entries(object(value, name))) {
    // The official client's metadata may be null, for what is not known.
    if (entry === null) continue;
    if (entries.length === METADATA_ENTRIES) break;
    const type = typeof entry;
    if (type !== "string" && type !== "number" && type !== "boolean") {
      throw misfit(name, value, `a string, number or boolean in "${key.slice(0, 64)}"`);
    }
    // A number as it is written: rows and spans would name another customer.
    const written = type === "number" ? jsonSource(value, [key]) : JSON.stringify(entry);
    entries.push(`${JSON.stringify(key)}:${written ?? "null"}`);
  }
  return `{${entries.join(",")}}`;
}

function customCost(value: string, name: string): NonNullable<Controls["customCost"]> {
  const {
    total_cost: total,
    per_token_in: perTokenIn,
    per_token_out: perTokenOut,
  } = object(value, name);
  if (isPrice(total)) return { total };
  if (isPrice(perTokenIn) && isPrice(perTokenOut)) return { perTokenIn, perTokenOut };
  throw misfit(
    name,
    value,
    `"total_cost", or "per_token_in" and "per_token_out", as numbers from 0 to ${MOST_USD}`,
  );
}

function isPrice(value: unknown): value is number {
  return isInRange(value, { min: 0, max: MOST_USD });
}

/** A request's metadata by its keys; a number that has no exact form is text. */
export type RequestMetadata = Readonly<Record<string, string | number | boolean>>;

/** Reads the JSON text as which metadata travels (`Controls.metadata`); empty without one. */
export function readMetadata(json: string | null | undefined): RequestMetadata {
  // `as`: the entries were checked when the JSON was written.
  if (json == null) return {};
  const entries = JSON.parse(json) as Record<string, string | number | boolean>;
  for (const [key, entry] of Object.entries(entries))
    if (typeof entry === "number") entries[key] = exactScalar(json, key, entry);
  return entries;
}
