import { isSecretHeader } from "../manage/custom-provider.ts";
import { credentialHeaders } from "../providers.ts";
import { secretValues } from "../raw-path.ts";
import type { Observation } from "../usage/observer.ts";
import type { Outbound } from "../outbound.ts";

/** Stands for a credential in a log row. */
const HIDDEN = "[REDACTED]";
/** Characters from which a text is a credential; shorter ones are words of any answer. */
const SHORTEST = 12;

/**
 * What was seen of an answer, without the credentials that its request carried: providers repeat wrong keys in their
 * errors, and debugging endpoints all headers. The client gets the provider's bytes as they are.
 */
export function withoutCredentials(
  seen: Observation | null,
  { target, request }: Pick<Outbound, "target" | "request">,
): Observation | null {
  const given = seen?.body.text ?? "";
  if (seen === null || given === "") return seen;
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

function hide(text: string, secret: string): string {
  return secret.length < SHORTEST || !text.includes(secret)
    ? text
    : text.replaceAll(secret, HIDDEN);
}
