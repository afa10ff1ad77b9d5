import type { Auth } from "../../auth/authorize.ts";
import { requirePermission } from "../../auth/authorize.ts";
import { bearerToken } from "../../auth/bearer.ts";
import { allows, type Principal } from "../../auth/principal.ts";
import type { WebSockets } from "../../net/duplex.ts";
import { ApiError } from "../../http/api-error.ts";
import { copyOf } from "../../net/client-address.ts";

/** The rights of a caller on an agent. */
export interface Access {
  /** Holds "Agents Edit": may call operations that require it, and set the state if the class allows that. */
  readonly edit: boolean;
}

/**
 * Finds the rights of a caller; throws 401 or 403 without "Agents Read". Browsers cannot send headers with a
 * WebSocket or an EventSource, so the token may also come as `?token=`.
 */
export async function accessOf(auth: Auth, request: Request, account: string): Promise<Access> {
  if (auth === "off") return { edit: true };
  const shown = withToken(request);
  await requirePermission(auth, shown, { permission: "Agents Read", account });
  try {
    await requirePermission(auth, shown, { permission: "Agents Edit", account });
    return { edit: true };
  } catch (error) {
    if (error instanceof ApiError && error.kind === "forbidden") return { edit: false };
    throw error;
  }
}

/** The token of a request that {@link accessOf} takes; null when it shows none, or a ticket in place of it. */
export function shownToken(request: Request): string | null {
  const header = request.headers.get("authorization");
  if (header === null && new URL(request.url).searchParams.has("ticket")) return null;
  return bearerToken(withToken(request).headers.get("authorization"));
}

/** The rights of a principal on the agents of an account; null without "Agents Read". */
export function accessOfPrincipal(principal: Principal, account: string): Access | null {
  if (!allows(principal, "Agents Read", account)) return null;
  return { edit: allows(principal, "Agents Edit", account) };
}

function withToken(request: Request): Request {
  const token = new URL(request.url).searchParams.get("token");
  if (token === null || request.headers.has("authorization") || !/^[!-~]{1,4096}$/.test(token))
    return request;
  const headers = { authorization: `Bearer ${token}` };
  return copyOf(request, new Request(request.url, { headers }));
}

/** Close codes of refusals by the status of the failed request, and what the client shows for them. */
const refusals: Readonly<Record<number, readonly [code: number, reason: string]>> = {
  400: [1008, "Invalid agent name"],
  401: [4001, "Unauthorized"],
  403: [4003, "Forbidden"],
  404: [4004, "No such agent or transport"],
  429: [4029, "Too many failed logins"],
};

/**
 * Accepts a WebSocket and closes it at once with the code for the error; null when there is none. The public
 * client retries a refused upgrade for ever, but 1008 and 4000–4999 make it stop and report
 * (docs/compatibility.md).
 */
export function refuse(webSockets: WebSockets, request: Request, error: unknown): Response | null {
  const refusal = error instanceof ApiError ? refusals[error.status] : undefined;
  if (refusal === undefined) return null;
  const { response, duplex } = webSockets.accept(request);
  duplex.close(...refusal);
  return response;
}
