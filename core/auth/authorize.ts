import { bearerToken } from "./bearer.ts";
import type { NowOrLater } from "../work/now-or-later.ts";
import type { Context, MiddlewareHandler } from "hono";
import { ApiError } from "../http/api-error.ts";
import { addUnknownFields } from "../http/fields/unknown-fields.ts";
import { didYouMean } from "../text/nearest.ts";
import { checkAccountId } from "./accounts.ts";
import type { LoginGuard } from "./login-guard.ts";
import { allows, type Principal, type Viewer } from "./principal.ts";
import type { Permission } from "./permissions.ts";

/** Finds out who makes a request; null when it carries no valid credential. */
export interface Authenticate {
  (request: Request): Promise<Principal | null>;
  /** The same for a token that came elsewhere than in `Authorization`. @default asked with a made-up request */
  readonly byToken?: (token: string, request?: Request) => NowOrLater<Principal | null>;
  /**
   * Finds the principal of a token by its SHA-256 (hexadecimal), which is all that a connection keeps of it. @default a
   * connection whose token is no longer in memory has to be opened again
   */
  readonly byHash?: (hash: string) => NowOrLater<Principal | null>;
  /**
   * Limits failed logins. The function itself applies it; callers of `byToken` have to apply it. @default failures are
   * not limited
   */
  readonly logins?: LoginGuard;
  /**
   * Whether a text contains one of these tokens, or anything in the form of one: the gateway sends such a text to no
   * provider. @default every word is tried with `byToken`, which costs more
   */
  readonly isIn?: (text: string) => boolean;
}

/** The authentication of a capability: `"off"` leaves it to the host app. */
export type Auth = Authenticate | "off";

/**
 * Guards one route: 401 without a valid token, 403 when the token lacks the permission on the account of the path
 * parameter `account_id`, or on the gateway of `gateway_id`. An account id that no account can have is a 400. A
 * capability that has no account in its path passes one.
 */
export function authorize(auth: Auth, permission: Permission, account?: string): MiddlewareHandler {
  return async (c, next) => {
    const named = account ?? c.req.param("account_id") ?? "";
    const gateway = c.req.param("gateway_id");
    if (auth !== "off")
      c.set(
        PRINCIPAL,
        await requirePermission(auth, c.req.raw, { permission, account: named, gateway }),
      );
    if (account === undefined) checkAccountId(named);
    await next();
    const adding = addUnknownFields(c);
    if (adding !== undefined) await adding;
  };
}

/** Checks the permission of {@link authorize} again, for an answer that lasts; throws 401 or 403. */
export async function authorizeAgain(
  auth: Auth,
  permission: Permission,
  c: Context,
): Promise<void> {
  if (auth === "off") return;
  const account = c.req.param("account_id") ?? "";
  await requirePermission(auth, c.req.raw, {
    permission,
    account,
    gateway: c.req.param("gateway_id"),
  });
}

const PRINCIPAL = "principal";

/**
 * The requester behind a request of a route that {@link authorize} guards, as a text: the token or subject and its
 * account. Null if the host app authenticates.
 */
export function requesterOf(c: Context): string | null {
  // `as`: set above, and nowhere else.
  const principal = c.get(PRINCIPAL) as Principal | undefined;
  if (principal === undefined) return null;
  return [c.req.param("account_id") ?? "", principal.kind, principal.id].join("\n");
}

/** The reader behind a request of a guarded route. */
export function viewerOf(c: Context): Viewer {
  // `as`: set above, and nowhere else.
  return (c.get(PRINCIPAL) as Principal | undefined) ?? "host";
}

/** The id of the token behind a request of a guarded route; `"host"` if the host app authenticates. */
export function requesterId(c: Context): string {
  // `as`: set above, and nowhere else.
  return (c.get(PRINCIPAL) as Principal | undefined)?.id ?? "host";
}

/**
 * The owner of a request's work, between whom places and queues are shared: the requester, or the account if the host
 * app authenticates. Never an unchecked header, because one client can send any number of different ones.
 */
export function workOwner(c: Context): string {
  return requesterOf(c) ?? c.req.param("account_id") ?? "";
}

/** A permission, and the account and gateway that it is needed on. */
export interface NeededPermission {
  readonly permission: Permission;
  readonly account: string;
  readonly gateway?: string | undefined;
}

/** Like {@link authorize}, outside a router: resolves to the principal or throws 401/403. */
export async function requirePermission(
  auth: Authenticate,
  request: Request,
  { permission, account, gateway }: NeededPermission,
): Promise<Principal> {
  const principal = await requirePrincipal(auth, request);
  if (!allows(principal, permission, account, gateway)) {
    const where = gateway === undefined ? "" : ` and gateway "${gateway.slice(0, 64)}"`;
    throw new ApiError("forbidden", {
      message: `The token lacks the permission "${permission}" on account "${account.slice(0, 64)}"${where}${otherAccount(principal, permission, account)}`,
    });
  }
  return principal;
}

/** Offers the account of a principal that a caller may have misspelt. */
function otherAccount(principal: Principal, permission: Permission, account: string): string {
  const own = principal.grants.flatMap(({ accounts }) => accounts);
  const held = own.filter((one) => one !== account && allows(principal, permission, one));
  return didYouMean(account.slice(0, 64), held);
}

/** The principal of a token that came elsewhere than in `Authorization`, with `request`; null when it is not valid. */
export function principalOf(
  auth: Authenticate,
  token: string,
  request?: Request,
): NowOrLater<Principal | null> {
  if (auth.byToken !== undefined) return auth.byToken(token, request);
  const headers = { authorization: `Bearer ${token}` };
  return auth(new Request("http://token.invalid/", { headers }));
}

/** Logs in by a token that a request presents elsewhere; null when it is not valid. Throws `too_many_logins`. */
export async function logInByToken(
  auth: Authenticate,
  token: string,
  request: Request,
): Promise<Principal | null> {
  auth.logins?.check(token, request);
  const principal = await principalOf(auth, token, request);
  if (principal === null) auth.logins?.failed(request);
  return principal;
}

/** Resolves to the principal of a request, whatever its permissions are, or throws 401. */
export async function requirePrincipal(auth: Authenticate, request: Request): Promise<Principal> {
  const principal = await auth(request);
  if (principal !== null) return principal;
  throw new ApiError("unauthorized", {
    message: `Authentication error: ${whyRefused(request)}; send "Authorization: Bearer <API_TOKEN>" with a valid token`,
    headers: { "www-authenticate": "Bearer" },
  });
}

/** Says what is wrong with the credential of a request that was refused. */
function whyRefused(request: Request): string {
  const sent = request.headers.get("authorization");
  if (sent === null) return "no token was sent";
  if (/^bearer$/iu.test(sent))
    return 'nothing follows "Bearer" (is the variable with the token set?)';
  if (!/^bearer /iu.test(sent)) return 'the header "Authorization" does not begin with "Bearer "';
  if (bearerToken(sent) === null)
    return 'the header "Authorization" does not hold "Bearer " and one token';
  return "the token is unknown, disabled or expired";
}
