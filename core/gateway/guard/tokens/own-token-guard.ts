import type { HeaderPair } from "../../../ports.ts";
import type { Call, Step } from "../../call/call.ts";
import { credentialHeaders } from "../../providers/known/table.ts";
import { isGatewayHeader } from "../../wire/header-hygiene.ts";
import { decodedValue } from "../../wire/own-tokens.ts";
import { filterQuery } from "../../wire/raw-path.ts";
import { guardedStep } from "./guarded-step.ts";
import type { TokenSearch } from "./token-search.ts";

/** Knows the tokens of this gateway and of its host. */
export interface OwnTokens {
  /** Whether only {@link OwnTokens.ask} knows the host's tokens. */
  readonly asksHost: boolean;
  /** Asks a host's own authentication which words of these values are tokens of its. */
  ask(values: readonly string[]): Promise<ReadonlySet<string>> | undefined;
  /** Whether a value holds one, given the token that the request presented and what `ask` found out. */
  holdsOwnToken(value: string, presented: string | null, asked?: ReadonlySet<string>): boolean;
}

export interface OwnTokenParts {
  readonly access: OwnTokens;
  /** Finds a request's own token where it must not stand; null for one too short to search for. */
  readonly searchFor: (token: string) => TokenSearch | null;
}

/**
 * Takes the headers and query parameters out of a step that hold a token of ours: neither a provider nor a log row gets
 * them. Throws `invalid_request` when the caller's own stands where it cannot be taken out.
 */
export function ownTokenGuard({
  access,
  searchFor,
}: OwnTokenParts): (step: Step, call: Call) => Promise<Step> | Step {
  const without = (step: Step, call: Call, asked?: ReadonlySet<string>): Step => {
    const search = call.token === null ? null : searchFor(call.token);
    const holdsToken = (value: string): boolean => access.holdsOwnToken(value, call.token, asked);
    // Cookies and `Referer` are percent-encoded, too, and a query's plus sign is a space or itself.
    const holdsDecodedToken = (value: string): boolean =>
      holdsToken(value) ||
      (/[%+\\]/.test(value) &&
        (holdsToken(decodedValue(value)) || search?.isInText(value) === true));
    const query = filterQuery(step.query, (value) => value !== "" && holdsDecodedToken(value));
    // One search for all of them, because hardly any request has one to take out.
    const headers =
      (asked?.size ?? 0) > 0 || mayHoldToken(step.headers, call.token, holdsToken)
        ? step.headers.filter(([name, value]) => isGatewayHeader(name) || !holdsDecodedToken(value))
        : step.headers;
    return guardedStep({ ...step, query, headers }, call, search);
  };
  return (step, call) => {
    if (!access.asksHost) return without(step, call);
    const asked = access.ask(credentialValues(step));
    return asked === undefined
      ? without(step, call)
      : asked.then((found) => without(step, call, found));
  };
}

/** Whether any header that travels on may hold a token; headers that are encoded, or hold user and password, may. */
function mayHoldToken(
  headers: readonly HeaderPair[],
  presented: string | null,
  holdsToken: (text: string) => boolean,
): boolean {
  let text = "";
  // No header holds a line feed, so no token does, and it ends every word.
  for (const [name, value] of headers) if (!isGatewayHeader(name)) text += `${value}\n`;
  if (/[%+\\]|basic\s/i.test(text)) return true;
  return (presented !== null && text.includes(presented)) || holdsToken(text);
}

function credentialValues({ headers, query }: Step): string[] {
  const values: string[] = [];
  for (const [name, value] of headers) if (credentialHeaders.has(name)) values.push(value);
  for (const [name, value] of new URLSearchParams(query)) values.push(value === "" ? name : value);
  return values;
}
