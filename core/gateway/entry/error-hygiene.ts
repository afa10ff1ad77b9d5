import { ApiError } from "../../http/api-error.ts";
import { headerPairs, headerValue } from "../wire/header-hygiene.ts";
import { presentedToken, tokenOf } from "../call/gateway-token.ts";
import { held, isInPath } from "../guard/tokens/guarded-step.ts";
import { tokenSearch } from "../guard/tokens/token-search.ts";

/** The replacement for a token in messages. */
const HIDDEN = "[token]";

/**
 * Returns the error of a request, its message without the request's own tokens: messages quote what was sent. A token in
 * the path is an error of its own, because paths are written to the process's log.
 */
export function withoutTokens(error: unknown, request: Request): unknown {
  const headers = headerPairs(request);
  const given = [presentedToken(headers, true), tokenOf(headerValue(headers, "authorization"))];
  const path = request.url.split("?", 1)[0] ?? "";
  const tokens = given.filter((token) => token !== null);
  for (const token of tokens) {
    const search = tokenSearch(token);
    if (search !== null && isInPath(path, search)) return held("path");
  }
  if (!(error instanceof ApiError)) return error;
  let { message } = error;
  for (const token of tokens) if (token.length > 3) message = message.replaceAll(token, HIDDEN);
  return message === error.message
    ? error
    : new ApiError(error.kind, { ...error.options, message });
}
