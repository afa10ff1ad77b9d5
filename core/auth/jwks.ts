import { bodyUpTo } from "../http/stream.ts";
import { createLocalJWKSet } from "jose/jwks/local";
import { JWKSNoMatchingKey } from "jose/errors";
import type { JWTVerifyGetKey } from "jose";
import * as v from "valibot";
import { ApiError, invalidOptions } from "../http/api-error.ts";
import { parseJson } from "../http/fields/body.ts";
import type { Platform } from "../ports.ts";
import { withinMs } from "../time/within-ms.ts";

/** Bytes of a key set; real ones have a few KiB. */
const BODY_LIMIT = 256 * 1024;
/** Keys are read again after this many ms. */
const MAX_AGE = 10 * 60_000;
/** Least ms between two reads, so that tokens with invented key ids cannot make us hammer the issuer. */
const COOLDOWN = 30_000;
/** Ms that the issuer may take. */
const TIMEOUT = 5_000;

/** The part of a platform that reading keys needs. */
export type JwksDeps = Pick<Platform, "system" | "transport" | "log">;

const keySetSchema = v.object({
  keys: v.pipe(v.array(v.looseObject({ kty: v.string() })), v.maxLength(100)),
});

/**
 * Keys from an issuer's JWKS address, read through the platform's transport and kept for ten minutes.
 * An unknown key id triggers one early read; while the issuer is down the keys of the last read go on.
 */
export function remoteJwks(address: string, platform: JwksDeps): JWTVerifyGetKey {
  const url = checkAddress(address);
  let keys: ReturnType<typeof createLocalJWKSet> | undefined;
  let readAt = -Infinity;
  let triedAt = -Infinity;
  let reading: Promise<void> | undefined;

  const read = async (): Promise<void> => {
    triedAt = platform.system.monotonic();
    try {
      keys = createLocalJWKSet(await fetchKeySet(url, platform));
      readAt = triedAt;
    } catch (error) {
      platform.log("warn", "The issuer's keys cannot be read", { url, error: String(error) });
    } finally {
      reading = undefined;
    }
  };
  const refresh = async (): Promise<void> => {
    const age = platform.system.monotonic() - triedAt;
    // On Workers a read ends with its request, without settling: others wait for it only as long as it may take.
    if (reading !== undefined && age < 2 * TIMEOUT) return await reading;
    if (reading === undefined && age < COOLDOWN) return undefined;
    reading = read();
    platform.system.waitUntil(reading);
    return await reading;
  };

  return async (header, token) => {
    if (platform.system.monotonic() - readAt >= MAX_AGE) await refresh();
    if (keys === undefined) {
      throw new ApiError("unavailable", {
        message: "The keys of the token's issuer cannot be read: try again later",
        headers: { "retry-after": String(COOLDOWN / 1000) },
      });
    }
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof JWKSNoMatchingKey)) throw error;
      await refresh();
      return await keys(header, token);
    }
  };
}

function checkAddress(address: string): string {
  const url = URL.parse(address);
  const loopback = url !== null && ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  if (url?.protocol === "https:" || (url?.protocol === "http:" && loopback)) return url.href;
  throw invalidOptions(
    `Invalid jwksUrl "${address.slice(0, 200)}": use https, or http on loopback`,
  );
}

async function fetchKeySet(
  url: string,
  platform: JwksDeps,
): Promise<v.InferOutput<typeof keySetSchema>> {
  const ask = async (signal: AbortSignal): Promise<v.InferOutput<typeof keySetSchema>> => {
    const headers = [["accept", "application/jwk-set+json, application/json"]] as const;
    const response = await platform.transport.send({ method: "GET", url, headers, signal });
    if (response.status !== 200) {
      throw new ApiError("unavailable", {
        message: `The issuer answered status ${response.status}`,
      });
    }
    const bytes = await bodyUpTo(response.body, BODY_LIMIT);
    if (bytes === null)
      throw new ApiError("unavailable", { message: "The issuer's key set is too large" });
    return v.parse(keySetSchema, parseJson(bytes));
  };
  return withinMs({ ms: TIMEOUT, signal: undefined, system: platform.system }, ask);
}
