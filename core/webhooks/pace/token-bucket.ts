import { ApiError } from "../../http/api-error.ts";

/** A rate, and the tokens of which each request takes one. */
export interface TokenBucket {
  /** Requests per second; null = any number. */
  rate: number | null;
  tokens: number;
  refilled: number;
}

/** Makes a bucket with the tokens of a second. */
export function fullBucket(rate: number | null, now: number): TokenBucket {
  return { rate, tokens: burstOf(rate), refilled: now };
}

/** Requests that may leave at once after a pause: those of a second, one at least. */
function burstOf(rate: number | null): number {
  return rate === null ? 0 : Math.max(1, rate);
}

/** Adds the tokens of the time since the last call. */
export function refill(bucket: TokenBucket, now: number): void {
  if (bucket.rate === null) return;
  // A clock that was set back gives nothing and takes nothing.
  const since = Math.max(0, now - bucket.refilled);
  bucket.tokens = Math.min(burstOf(bucket.rate), bucket.tokens + (since * bucket.rate) / 1000);
  bucket.refilled = now;
}

/** Whether there is a token beside those of `planned` requests. */
export function hasToken(bucket: TokenBucket, planned: number): boolean {
  return bucket.rate === null || bucket.tokens >= planned + 1;
}

/** Ms until the next request may leave. */
export function tokenIn(bucket: TokenBucket): number {
  return bucket.rate === null
    ? 0
    : Math.max(1, Math.ceil(((1 - bucket.tokens) * 1000) / bucket.rate));
}

/** Limits the messages of a sender. */
export interface MessageRate {
  /**
   * Takes tokens of a rate, which may have changed since the last call, for as many of the `wanted` messages as there are;
   * returns how many. Throws 429 without any.
   */
  take(rate: number | null, now: number, wanted?: number): number;
}

/** Makes a limit of messages; it is kept in memory, and is full after a start. */
export function messageRate(): MessageRate {
  let bucket = fullBucket(null, 0);
  return {
    take(rate, now, wanted = 1) {
      if (bucket.rate !== rate) bucket = fullBucket(rate, now);
      refill(bucket, now);
      if (!hasToken(bucket, 0)) {
        const seconds = Math.ceil(tokenIn(bucket) / 1000);
        throw new ApiError("rate_limited", {
          message: `The application takes ${rate} messages per second`,
          headers: { "retry-after": String(seconds) },
        });
      }
      const taken = rate === null ? wanted : Math.min(wanted, Math.floor(bucket.tokens));
      bucket.tokens -= taken;
      return taken;
    },
  };
}
