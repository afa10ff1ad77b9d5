import { isSecretHeader } from "../../wire/header-hygiene.ts";
import { credentialHeaders } from "../../providers/table.ts";
import { secretValues } from "../../wire/raw-path.ts";
import type { Observation } from "../../call/recording.ts";
import type { Outbound } from "../../call/outbound.ts";

/** Stands for a credential in a log row. */
const HIDDEN = "[REDACTED]";
/** Characters from which a credential is hidden wherever it stands; shorter ones are part of any word. */
const DISTINCT = 12;
/** Characters below which nothing is a credential. */
const SHORTEST = 3;

/**
 * What was seen of an answer, without the credentials that its request carried: providers repeat wrong keys in their
 * errors, and debugging endpoints all headers. The client gets the provider's bytes as they are.
 */
export function withoutCredentials(
  seen: Observation,
  { target, request }: Pick<Outbound, "target" | "request">,
): Observation {
  const given = seen.body.text ?? "";
  if (given === "") return seen;
  let text = given;
  for (const [name, value] of request.headers) {
    const isCredential =
      credentialHeaders.has(name) ||
      target.provider.credentials.includes(name) ||
      (target.custom !== undefined && isSecretHeader(name));
    if (isCredential) text = hide(text, value.slice(value.lastIndexOf(" ") + 1));
  }
  for (const value of secretValues(request.url)) text = hide(text, value);
  return text === given ? seen : { ...seen, body: { ...seen.body, text } };
}

/** As it is and as JSON has it; a short one only where it stands by itself, between quotes, in a query and the like. */
function hide(text: string, secret: string): string {
  if (secret.length < SHORTEST) return text;
  const written = JSON.stringify(secret).slice(1, -1);
  const hidden = written === secret ? text : hideAs(text, written);
  return hideAs(hidden, secret);
}

function hideAs(text: string, secret: string): string {
  if (!text.includes(secret)) return text;
  if (secret.length >= DISTINCT) return text.replaceAll(secret, HIDDEN);
  const literal = secret.replaceAll(/[$()*+.?[\\\]^{|}/]/g, "\\$&");
  return text.replaceAll(
    new RegExp(`(?<![\\p{L}\\p{N}_])${literal}(?![\\p{L}\\p{N}_])`, "gu"),
    HIDDEN,
  );
}
