import { ApiError } from "../http/api-error.ts";
import type { HeaderPair } from "../ports.ts";

/** Growth of the pause between attempts. */
export type Backoff = "constant" | "linear" | "exponential";

/** What a request asks of the gateway by `cf-aig-*` / `gw-aig-*` headers (reference, section 1.3). */
export type Controls = {
  skipCache?: boolean;
  /** Seconds; 0 = do not cache. */
  cacheTtl?: number;
  cacheKey?: string;
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
};

const MONTH_SECONDS = 31 * 24 * 3600;
const CACHE_TTL_MINIMUM = 60;
const METADATA_ENTRIES = 5;

/** The value of a gateway header under either prefix; `gw-aig-` wins. */
export function gatewayHeader(headers: readonly HeaderPair[], name: string): string | null {
  const [first, second] = [`gw-aig-${name}`, `cf-aig-${name}`];
  let found: string | null = null;
  for (const [key, value] of headers) {
    if (key === first) return value;
    if (key === second) found ??= value;
  }
  return found;
}

/** Reads the control headers; a malformed one is a 400 that names it. */
export function parseControls(headers: readonly HeaderPair[]): Controls {
  const controls: Controls = {};
  for (const [header, value] of headers) {
    const name = controlOf(header);
    if (name === null || !Object.hasOwn(parsers, name)) continue;
    // Of a header that stands there under several names only one is read.
    if (header.startsWith("gw-aig-") || isHighest(headers, header, name))
      parsers[name]?.(controls, value, name);
  }
  return controls;
}

/** What a header is called without its prefix, old aliases included; null when it is none of ours. */
function controlOf(header: string): string | null {
  if (header.startsWith("gw-aig-") || header.startsWith("cf-aig-")) return header.slice(7);
  return header === "cf-skip-cache" || header === "cf-cache-ttl" ? header.slice(3) : null;
}

/** Whether no name of the same control outranks this one: `gw-aig-` comes before `cf-aig-` before the old aliases. */
function isHighest(headers: readonly HeaderPair[], header: string, name: string): boolean {
  const isOld = !header.startsWith("cf-aig-");
  const higher = isOld ? [`gw-aig-${name}`, `cf-aig-${name}`] : [`gw-aig-${name}`];
  return !headers.some(([other]) => higher.includes(other));
}

type Parse = (controls: Controls, value: string, name: string) => void;

const parsers: Readonly<Record<string, Parse>> = {
  "skip-cache": (controls, value, name) => (controls.skipCache = flag(value, name)),
  "cache-ttl": (controls, value, name) => {
    const ttl = integer(value, name, 0, MONTH_SECONDS);
    controls.cacheTtl = ttl === 0 ? 0 : Math.max(ttl, CACHE_TTL_MINIMUM);
  },
  "cache-key": (controls, value, name) => (controls.cacheKey = text(value, name, 1024)),
  "collect-log": (controls, value, name) => (controls.collectLog = flag(value, name)),
  "collect-log-payload": (controls, value, name) =>
    (controls.collectLogPayload = flag(value, name)),
  metadata: (controls, value, name) => (controls.metadata = metadata(value, name)),
  "custom-cost": (controls, value, name) => (controls.customCost = customCost(value, name)),
  "byok-alias": (controls, value, name) => (controls.byokAlias = text(value, name, 64)),
  "event-id": (controls, value, name) => (controls.eventId = text(value, name, 256)),
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

function misfit(name: string, value: string, wanted: string): ApiError {
  return new ApiError("invalid_request", {
    message: `Header cf-aig-${name}: expected ${wanted}, got "${value.slice(0, 64)}"`,
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

function object(value: string, name: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(value);
    if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) {
      return parsed as Record<string, unknown>;
    }
  } catch {
    // Reported below, like JSON that is no object.
  }
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
    entries.push(`${JSON.stringify(key)}:${JSON.stringify(entry)}`);
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
  throw misfit(name, value, '"total_cost", or "per_token_in" and "per_token_out", as numbers');
}

function isPrice(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
