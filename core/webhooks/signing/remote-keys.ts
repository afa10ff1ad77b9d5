import { BoundedMap } from "../../work/bounded-map.ts";
import { importJWK } from "jose/key/import";
import type { CryptoKey, JWTVerifyGetKey, KeyObject } from "jose";
import * as v from "valibot";
import { remoteJwks } from "../../auth/jwks.ts";
import { type Certificate, readCertificate } from "../../crypto/certificate.ts";
import { ApiError } from "../../http/api-error.ts";
import { bodyUpTo } from "../../http/stream.ts";
import { utf8 } from "../../crypto/encoding.ts";
import type { OutboundRequest, Platform } from "../../ports.ts";
import { withinMs } from "../../time/within-ms.ts";

/** Public keys that a sender publishes, read through the egress guard when a request first needs them. */
export interface RemoteKeys {
  /** The certificate at an address that the caller has pinned. Throws 503 when it cannot be read. */
  certificate(url: string): Promise<Certificate>;
  jwks(address: string): JWTVerifyGetKey;
  /** Keys that are asked for one by one, with the credentials `client_id:secret` (Plaid). */
  lookup(address: string, credentials: string): JWTVerifyGetKey;
}

/** Bytes of a certificate or a key; real ones have a few KiB. */
const BODY_LIMIT = 65_536;
/** Ms that the sender's server may take. */
const TIMEOUT = 5000;
/** Keys and certificates that are kept, of each kind. */
const KEPT = 32;
/** A certificate and a key are read again after this many ms: the sender may have withdrawn them. */
const MAX_AGE = 60 * 60_000;
/**
 * First readings of one source in {@link WINDOW} ms: requests that name ever other keys do not make us hammer the sender. What
 * was good once is read again without a limit, or such requests would keep the sender's own out.
 */
const READINGS = 20;
const WINDOW = 60_000;

/** The part of a platform that reading keys needs. */
export type RemoteDeps = Pick<Platform, "egress" | "log" | "system">;

/** The published keys of one source's sender. */
export function remoteKeys({ egress, log, system }: RemoteDeps): RemoteKeys {
  const allow = readingLimit(() => system.monotonic());
  const read = async (
    request: Omit<OutboundRequest, "signal">,
    isKnown: boolean,
  ): Promise<string> => {
    if (!isKnown) allow();
    try {
      return await withinMs({ ms: TIMEOUT, signal: undefined, system }, (signal) =>
        textOf(egress.send({ ...request, signal })),
      );
    } catch (cause) {
      throw unreadable(cause);
    }
  };
  const now = (): number => system.monotonic();
  const certificates = keptFor<Certificate>(now);
  return {
    certificate: (url) =>
      certificates(url, async (isKnown) => {
        const found = readCertificate(await read({ method: "GET", url, headers: [] }, isKnown));
        if (found === null) throw unreadable(new TypeError("expected an X.509 certificate in PEM"));
        return found;
      }),
    jwks: (address) => remoteJwks(address, { log, system, transport: egress }),
    lookup(url, credentials) {
      const keys = keptFor<CryptoKey | KeyObject | Uint8Array>(now);
      const at = credentials.indexOf(":");
      const [client_id, secret] = [credentials.slice(0, at), credentials.slice(at + 1)];
      return ({ alg, kid = "" }) => {
        if (!/^[\w-]{1,64}$/.test(kid)) throw new TypeError("The token names no key");
        return keys(kid, async (isKnown) => {
          const body = utf8(JSON.stringify({ client_id, secret, key_id: kid }));
          const headers = [["content-type", "application/json"]] as const;
          return importKey(await read({ method: "POST", url, headers, body }, isKnown), alg);
        });
      };
    },
  };
}

const keySchema = v.object({
  key: v.looseObject({ kty: v.string(), expired_at: v.nullish(v.number()) }),
});

/** Throws `TypeError` for an expired key. */
async function importKey(
  text: string,
  alg: string | undefined,
): Promise<CryptoKey | KeyObject | Uint8Array> {
  const { key } = v.parse(keySchema, JSON.parse(text));
  if (key.expired_at != null) throw new TypeError("The key has expired");
  return importJWK(key, alg);
}

/** Keeps what was read for an hour, the newest of a few. */
function keptFor<T>(
  now: () => number,
): (id: string, read: (isKnown: boolean) => Promise<T>) => Promise<T> {
  const kept = new BoundedMap<string, { readonly value: T; readonly at: number }>(KEPT);
  return async (id, read) => {
    const known = kept.get(id);
    if (known !== undefined && now() - known.at < MAX_AGE) return known.value;
    // A reading is not shared: on Workers it ends with the request that began it.
    const value = await read(known !== undefined);
    kept.delete(id);
    kept.set(id, { value, at: now() });
    return value;
  };
}

function readingLimit(now: () => number): () => void {
  let since = now();
  let count = 0;
  return () => {
    if (now() - since >= WINDOW) {
      since = now();
      count = 0;
    }
    if (++count > READINGS) throw unreadable(new TypeError("Too many keys were asked for"));
  };
}

async function textOf(answer: ReturnType<RemoteDeps["egress"]["send"]>): Promise<string> {
  const { body, status } = await answer;
  const bytes = await bodyUpTo(body, BODY_LIMIT);
  if (status !== 200) throw new TypeError(`The sender's server answered status ${status}`);
  if (bytes === null || bytes.length === 0) throw new TypeError("It is empty or too large");
  return new TextDecoder().decode(bytes);
}

function unreadable(cause: unknown): ApiError {
  return new ApiError("unavailable", {
    message: "The sender's public key cannot be read: send the event again later",
    headers: { "retry-after": "30" },
    cause,
  });
}
