import { ApiError } from "../../http/api-error.ts";
import type { HeaderPair } from "../../ports.ts";
import { AUTHORIZATION, gatewayHeader } from "../call/controls.ts";
import { HOW_TO_SEND } from "../call/gateway-token.ts";
import { headerValue } from "../wire/header-hygiene.ts";

/** The header of gateway tokens, in either spelling. */
export const HEADER = "cf-aig-authorization";

const HOW_TO_AUTHORIZE =
  'send "authorization: Bearer <TOKEN>" (or cf-aig-authorization) with an API token, a gateway token or a virtual key';

/** The token that a request presents, and the header in which it stands or should stand. */
export interface PresentedToken {
  readonly token: string | null;
  readonly place: string;
}

/**
 * Makes the 401 for a token that does not open a gateway: says what is wrong with it, and how to send one.
 *
 * @param isInAuthorization whether `Authorization` may hold the gateway's token; else it is the provider's
 */
export function tokenError(
  { token, place }: PresentedToken,
  headers: readonly HeaderPair[],
  isInAuthorization: boolean,
): ApiError {
  const what = place === HEADER ? "the gateway token" : `the token in ${place}`;
  const wrong =
    token === null
      ? missing(headers, isInAuthorization)
      : `${what} does not open this gateway: it is unknown, disabled, expired or lacks the permission "AI Gateway Run"`;
  const how = isInAuthorization ? HOW_TO_AUTHORIZE : HOW_TO_SEND;
  return new ApiError("gateway_unauthorized", { message: `Unauthorized: ${wrong}; ${how}` });
}

/** Says why headers hold no token. */
function missing(headers: readonly HeaderPair[], isInAuthorization: boolean): string {
  if (gatewayHeader(headers, AUTHORIZATION) !== null) return malformed(HEADER);
  if (headerValue(headers, "authorization") === null) return "no token was sent";
  return isInAuthorization
    ? malformed("authorization")
    : 'no gateway token was sent ("authorization" holds the key of the provider here)';
}

function malformed(header: string): string {
  return `the header "${header}" does not hold "Bearer " and one token`;
}
