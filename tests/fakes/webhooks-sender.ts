import { toHex } from "../../core/crypto/encoding.ts";
import { hmacKey, hmacSign } from "../../core/crypto/hmac.ts";

/** A secret long enough for every scheme of text form. */
export const SECRET = "a secret for tests only";

/** A request as a generic or GitHub sender would make it. */
export async function signedRequest(
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
  header = "x-signature",
): Promise<Request> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const signature = `sha256=${toHex(await hmacSign(await hmacKey(SECRET), text))}`;
  return new Request(`http://causey.test${path}`, {
    method: "POST",
    body: text,
    headers: { "content-type": "application/json", [header]: signature, ...headers },
  });
}

/** A GitHub delivery. */
export function githubRequest(
  path: string,
  body: unknown,
  id: string,
  event = "push",
): Promise<Request> {
  const headers = { "x-github-event": event, "x-github-delivery": id };
  return signedRequest(path, body, headers, "x-hub-signature-256");
}
