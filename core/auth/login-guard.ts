import { BoundedMap, BoundedSet } from "../work/bounded-map.ts";
import { ApiError } from "../http/api-error.ts";
import { clientAddress, clientNetwork } from "../net/client-address.ts";
import type { Platform } from "../ports.ts";
import { isKeyShaped, isLinkShaped, isTokenShaped } from "./token-format.ts";

/** A budget of failed logins: how many there may be at once, and how many more each second. */
interface Budget {
  readonly failures: number;
  readonly perSecond: number;
}

/** The budget of one client: a person who mistypes never comes near it, a guesser gets no further. */
const OF_ADDRESS: Budget = { failures: 100, perSecond: 1 };
/**
 * The budget of all clients together, for guesses from many addresses. Beyond it failures get 429; valid tokens are
 * accepted.
 */
const OF_ALL: Budget = { failures: 1000, perSecond: 10 };
/** Addresses whose failures are remembered; those of one IPv6 network (/64) are one. */
const ADDRESSES = 10_000;
/** Addresses that one token is known to come from. */
const KNOWN_PER_TOKEN = 1000;
/** Milliseconds between two warnings about the same budget. */
const WARN_MS = 60_000;

/**
 * Limits the failures to log in, for API tokens, gateway tokens and virtual keys alike. It refuses guesses, not callers:
 * tokens that were made here and JWTs hold too much randomness to be guessed and are always checked, and a token of the
 * configuration is checked as long as it comes from an address from which it was valid before. Only the budget of an address
 * refuses unchecked tokens: strangers could use up that of all to shut everybody out. In memory, in each process.
 */
export interface LoginGuard {
  /**
   * Throws `too_many_logins` for a token that must not be tried now. Costs nothing while no address has used up its
   * budget.
   */
  check(token: string, request: Request): void;
  /** Remembers from where a configured token was valid. */
  passed(token: string, request: Request): void;
  /** Counts a failure; throws `too_many_logins` when there were too many. */
  failed(request: Request): void;
}

export interface LoginGuardOptions {
  /**
   * The number of proxies before the server, each of which appends the address that it sees to `X-Forwarded-For`. With
   * 0 the header is ignored, because clients can send it themselves. @default 0
   */
  readonly proxies?: number | undefined;
}

interface Bucket {
  used: number;
  /** Time of the steady clock at which `used` was true. */
  at: number;
  warnedAt: number;
}

/** The guard of one process. */
export function loginGuard(
  platform: Pick<Platform, "clientAddress" | "log" | "received" | "system">,
  { proxies = 0 }: LoginGuardOptions = {},
): LoginGuard {
  const { system, log } = platform;
  const places = knownPlaces();
  const buckets = new BoundedMap<string, Bucket>(ADDRESSES);
  const all = newBucket();
  /** No address has used up its budget behind this instant. */
  let alertUntil = Number.NEGATIVE_INFINITY;
  const addressOf = (request: Request): string => clientAddress(request, platform, proxies);

  // A budget that refills during its use is rarely used up to the last failure, so a refusal triggers the warning.
  const warn = (bucket: Bucket, budget: Budget, address: string | null, now: number): void => {
    if (waitOf(bucket, budget, now) === 0 || now - bucket.warnedAt < WARN_MS) return;
    bucket.warnedAt = now;
    log("warn", "Too many failed logins", {
      address: address === null ? "all together" : address === "" ? "unknown" : address,
      failures: budget.failures,
    });
  };

  return {
    check(token, request) {
      const now = system.monotonic();
      if (now > alertUntil) return;
      const address = addressOf(request);
      const seconds = waitOf(buckets.get(clientNetwork(address)), OF_ADDRESS, now);
      if (seconds === 0 || isUnguessable(token) || places.has(token, address)) return;
      throw tooMany(seconds);
    },
    passed(token, request) {
      places.add(token, addressOf(request));
    },
    failed(request) {
      const now = system.monotonic();
      const network = clientNetwork(addressOf(request));
      const bucket = buckets.get(network) ?? newBucket();
      // The one that failed last stands last.
      buckets.delete(network);
      buckets.set(network, bucket);
      const own = waitOf(bucket, OF_ADDRESS, now);
      const isRefused = own > 0 || waitOf(all, OF_ALL, now) > 0;
      // An address that has used up its own budget takes nothing from the common one.
      if (own === 0) use(all, OF_ALL, now);
      use(bucket, OF_ADDRESS, now);
      warn(bucket, OF_ADDRESS, network, now);
      warn(all, OF_ALL, null, now);
      const next = waitOf(bucket, OF_ADDRESS, now);
      if (next > 0) alertUntil = Math.max(alertUntil, now + next * 1000);
      if (isRefused) throw tooMany(Math.max(next, waitOf(all, OF_ALL, now)));
    },
  };
}

function newBucket(): Bucket {
  return { used: 0, at: Number.NEGATIVE_INFINITY, warnedAt: Number.NEGATIVE_INFINITY };
}

function usedNow({ used, at }: Bucket, { perSecond }: Budget, now: number): number {
  return used === 0 ? 0 : Math.max(0, used - ((now - at) / 1000) * perSecond);
}

/** Failures above the budget are refused, so that they do not prolong it. */
function use(bucket: Bucket, budget: Budget, now: number): void {
  bucket.used = Math.min(budget.failures, usedNow(bucket, budget, now) + 1);
  bucket.at = now;
}

function waitOf(bucket: Bucket | undefined, budget: Budget, now: number): number {
  if (bucket === undefined) return 0;
  const over = usedNow(bucket, budget, now) + 1 - budget.failures;
  return over <= 0 ? 0 : Math.max(1, Math.ceil(over / budget.perSecond));
}

function tooMany(seconds: number): ApiError {
  return new ApiError("too_many_logins", {
    message: `Too many failed logins: wait ${seconds} s before you try another token`,
    headers: { "retry-after": String(seconds) },
  });
}

/** 238 random bits, or a signature. */
function isUnguessable(token: string): boolean {
  const isMadeHere = isTokenShaped(token) || isKeyShaped(token) || isLinkShaped(token);
  return isMadeHere || /^ey[\w-]+\.[\w-]+\.[\w-]+$/.test(token);
}

/** Remembers from which addresses configured tokens were valid. There are as many as the configuration has. */
function knownPlaces(): {
  has(token: string, address: string): boolean;
  add(token: string, address: string): void;
} {
  const places = new Map<string, { last: string; readonly networks: Set<string> }>();
  return {
    has: (token, address) => places.get(token)?.networks.has(clientNetwork(address)) === true,
    add(token, address) {
      const place = places.get(token);
      // Most callers stay where they are.
      if (place?.last === address) return;
      const networks = place?.networks ?? new BoundedSet<string>(KNOWN_PER_TOKEN);
      if (place === undefined) places.set(token, { last: address, networks });
      else place.last = address;
      const network = clientNetwork(address);
      networks.delete(network);
      networks.add(network);
    },
  };
}
