import { fromBase64, toBase64Url, utf8 } from "../../../crypto/encoding.ts";
import { jsonText, parsedObject } from "../../../http/json.ts";
import type { System } from "../../../ports.ts";

/** The key of a service account of Google, as its console gives it. */
export interface ServiceAccount {
  readonly email: string;
  readonly keyId: string;
  /** PKCS #8. */
  readonly key: Uint8Array<ArrayBuffer>;
  readonly project: string | undefined;
}

/** Google's address for access tokens. The address in a key is ignored: a caller may have stored it. */
export const GOOGLE_TOKENS = "https://oauth2.googleapis.com/token";
const SCOPE = "https://www.googleapis.com/auth/cloud-platform";
/** Seconds for which Google takes an assertion, at most. */
const LIFETIME = 3600;

const PEM = /^-----BEGIN PRIVATE KEY-----([A-Za-z\d+/=\s]+)-----END PRIVATE KEY-----\s*$/;

/** Reads the JSON text of a service account's key; null for anything else. */
export function readServiceAccount(text: string): ServiceAccount | null {
  const value = parsedObject(text) ?? {};
  const email = jsonText(value["client_email"]);
  const encoded = PEM.exec(jsonText(value["private_key"]))?.[1];
  const key = encoded === undefined ? null : fromBase64(encoded.replaceAll(/\s/g, ""));
  if (key === null || !/^[\w.+-]{1,128}@[\w.-]{1,128}$/.test(email)) return null;
  const project = jsonText(value["project_id"]);
  return {
    email,
    key,
    keyId: jsonText(value["private_key_id"]),
    project: project === "" ? undefined : project,
  };
}

/**
 * Makes the form that asks for an access token: a JSON Web Token signed by RS256
 * (https://developers.google.com/identity/protocols/oauth2/service-account#httprest).
 */
export async function tokenRequest(account: ServiceAccount, system: System): Promise<string> {
  const now = Math.floor(system.now() / 1000);
  const header = { alg: "RS256", typ: "JWT", kid: account.keyId };
  const claims = {
    iss: account.email,
    scope: SCOPE,
    aud: GOOGLE_TOKENS,
    iat: now,
    exp: now + LIFETIME,
  };
  const encoded = [header, claims].map((part) => toBase64Url(utf8(JSON.stringify(part)))).join(".");
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("pkcs8", account.key, algorithm, false, ["sign"]);
  const signature = await crypto.subtle.sign(algorithm.name, key, utf8(encoded));
  return String(
    new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
      assertion: `${encoded}.${toBase64Url(new Uint8Array(signature))}`,
    }),
  );
}
