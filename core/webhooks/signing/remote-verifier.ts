import { jwtVerify } from "jose/jwt/verify";
import type { JWTVerifyGetKey } from "jose";
import { sha256Hex } from "../../crypto/digest.ts";
import { utf8 } from "../../crypto/encoding.ts";
import { constantTimeEqual } from "../../crypto/equal.ts";
import { ApiError } from "../../http/api-error.ts";
import type { RemoteKeys } from "./remote-keys.ts";
import type { CertificateRule, JwtRule } from "./scheme.ts";
import type { ReadSource, SignedRequest } from "./signed-content.ts";

/** The request whose signature a key checks. */
export interface Checked {
  readonly request: SignedRequest;
  readonly read: ReadSource;
  /** Unix ms. */
  readonly now: number;
}

type Verify = (signature: Uint8Array, content: Uint8Array, checked: Checked) => Promise<boolean>;

const RSA = "RSASSA-PKCS1-v1_5";

/** Checks RSA signatures with the certificate that a request names, if its address is one of the sender's. */
export function certificateVerifier(
  rule: CertificateRule,
  secret: string,
  remote: RemoteKeys,
): Verify {
  return async (signature, content, { now, read }) => {
    // The certificate signs for all of the sender's accounts: the secret says which of them may send here.
    if (rule.pin !== undefined && !isEqual(read(rule.pin), secret)) return false;
    const url = read(rule.url);
    if (url === null || !rule.address.test(url)) return false;
    const { notAfter, notBefore, spki } = await remote.certificate(url);
    if (now < notBefore || now > notAfter) return false;
    for (const hash of rule.hashes) {
      const algorithm = { name: RSA, hash };
      const key = await crypto.subtle.importKey("spki", spki, algorithm, false, ["verify"]);
      const [given, signed] = [new Uint8Array(signature), new Uint8Array(content)];
      if (await crypto.subtle.verify(RSA, key, given, signed)) return true;
    }
    return false;
  };
}

/** The secret of a JWT's source, and the audience that the operator gave, if any. */
export interface JwtSource {
  readonly secret: string;
  readonly audience: string | undefined;
}

/** Checks a JWT: signature, issuer, audience and claims, and the hash of the body where it has one. */
export function jwtVerifier(rule: JwtRule, source: JwtSource, remote: RemoteKeys | null): Verify {
  const getKey = keysOf(rule, source.secret, remote);
  return async (signature, _, { now, request }) => {
    const { url, body } = request;
    const [called = url] = url.split("?", 1);
    const audience = source.audience === undefined ? [url, called] : source.audience;
    try {
      const { payload } = await jwtVerify(new TextDecoder().decode(signature), getKey, {
        algorithms: [...rule.algorithms],
        currentDate: new Date(now),
        clockTolerance: 30,
        ...(rule.issuer === undefined ? {} : { issuer: rule.issuer }),
        ...(rule.audience === true ? { audience } : {}),
        ...(rule.maxAgeSeconds === undefined
          ? { requiredClaims: ["exp"] }
          : { maxTokenAge: rule.maxAgeSeconds }),
      });
      if (rule.pin !== undefined && !isEqual(payload[rule.pin], source.secret)) return false;
      const wanted = Object.entries(rule.claims ?? {});
      if (!wanted.every(([name, value]) => payload[name] === value)) return false;
      return rule.bodyHash === undefined || isEqual(payload[rule.bodyHash], await sha256Hex(body));
    } catch (error) {
      if (error instanceof ApiError) throw error;
      return false;
    }
  };
}

function keysOf({ keys }: JwtRule, secret: string, remote: RemoteKeys | null): JWTVerifyGetKey {
  if (keys === "secret") {
    const key = utf8(secret);
    return () => key;
  }
  if (remote === null) throw new TypeError("Published keys need a platform");
  return "jwks" in keys ? remote.jwks(keys.jwks) : remote.lookup(keys.lookup, secret);
}

function isEqual(value: unknown, secret: string): boolean {
  return typeof value === "string" && constantTimeEqual(utf8(value), utf8(secret));
}
