import { type Context, Hono } from "hono";
import { readJson } from "../http/fields/body.ts";
import { envelope } from "../http/envelope.ts";
import { checkQuery, readQuery } from "../http/fields/query.ts";
import { closeRoutes } from "../http/routes.ts";
import { addsUnknownFields } from "../http/fields/unknown-fields.ts";
import type { Platform } from "../ports.ts";
import { checkAccountId, listAccounts, showAccount } from "./accounts.ts";
import { type Auth, requirePermission, requirePrincipal } from "./authorize.ts";
import { permissionGroups } from "./permission-groups.ts";
import type { Permission } from "./permissions.ts";
import type { Principal } from "./principal.ts";
import { storedTokens, tokenStore } from "./token-store.ts";
import { accountQuerySchema, tokenInputSchema, tokenQuerySchema } from "./token-schema.ts";
import {
  createToken,
  getToken,
  listTokens,
  rollToken,
  showToken,
  type TokenDeps,
  updateToken,
  validity,
} from "./tokens.ts";

export { jwtAuth, type JwtOptions } from "./jwt.ts";
export { storedTokens, type StoredTokensOptions } from "./token-store.ts";

/** Options of {@link auth}. */
export interface AuthOptions {
  readonly platform: Platform;
  /** The account that exists even if no token names it. @default "local" */
  readonly accountId?: string;
  /** Authenticates callers. @default storedTokens(platform) */
  readonly auth?: Auth;
}

/** The principal of the host app, which vouches for every caller when authentication is left to it. */
const HOST: Principal = {
  id: "host",
  kind: "token",
  grants: [{ permissions: ["*"], accounts: ["*"] }],
};

/**
 * The routes of API tokens and accounts, as the official SDK calls them: `/user/tokens` (the whole
 * installation's, needs the permission on all accounts), `/accounts/:account_id/tokens`, `/accounts`.
 */
export function auth(options: AuthOptions): Hono {
  const { platform, accountId = "local" } = options;
  const authenticate = options.auth ?? storedTokens(platform);
  const app = new Hono();
  const caller = async (
    c: Context,
    permission: Permission,
    account: string,
  ): Promise<Principal> => {
    const principal =
      authenticate === "off"
        ? HOST
        : await requirePermission(authenticate, c.req.raw, { permission, account });
    // `"*"` is the owner of what belongs to no account, never one of a path.
    if (c.req.param("account_id") !== undefined) checkAccountId(account);
    return principal;
  };
  const anyone = async (c: Context): Promise<Principal> =>
    authenticate === "off" ? HOST : await requirePrincipal(authenticate, c.req.raw);

  tokenRoutes(app, "/user/tokens", { platform, caller, anyone });
  tokenRoutes(app, "/accounts/:account_id/tokens", { platform, caller, anyone });

  app.get("/accounts", addsUnknownFields, async (c) => {
    const { name, ...query } = readQuery(c, accountQuerySchema);
    const { accounts, info } = listAccounts(await anyone(c), accountId, query, name);
    return envelope(accounts, { resultInfo: info });
  });
  app.get("/accounts/:account_id", async (c) => {
    const id = c.req.param("account_id");
    await caller(c, "Account Read", id);
    return envelope(showAccount(id));
  });
  closeRoutes(app, ["/user/tokens/*", "/accounts/:account_id/tokens/*"], "api", platform);
  return app;
}

interface TokenRouteDeps {
  readonly platform: Platform;
  readonly caller: (c: Context, permission: Permission, account: string) => Promise<Principal>;
  readonly anyone: (c: Context) => Promise<Principal>;
}

function tokenRoutes(app: Hono, root: string, { platform, caller, anyone }: TokenRouteDeps): void {
  const store = tokenStore(platform);
  const { system } = platform;
  const deps = async (c: Context, permission: Permission): Promise<TokenDeps> => {
    const owner = c.req.param("account_id") ?? "*";
    return { store, system, owner, caller: await caller(c, permission, owner) };
  };
  const id = (c: Context): string => c.req.param("token_id") ?? "";

  app.get(`${root}/verify`, async (c) => {
    const principal = await anyone(c);
    const record = principal.kind === "token" ? await store.get(null, principal.id) : null;
    return envelope(
      { id: principal.id, status: "active", ...(record === null ? {} : validity(record)) },
      { messages: [{ code: 10000, message: "This API Token is valid and active", type: null }] },
    );
  });
  app.get(`${root}/permission_groups`, addsUnknownFields, async (c) => {
    await anyone(c);
    checkQuery(c, ["name", "scope"]);
    const { name, scope } = c.req.query();
    return envelope(
      permissionGroups
        .filter(
          (group) => name === undefined || group.name.toLowerCase().includes(name.toLowerCase()),
        )
        .filter((group) => scope === undefined || group.scopes.some((one) => one === scope)),
    );
  });
  app.get(root, addsUnknownFields, async (c) => {
    const { tokens, info } = await listTokens(
      readQuery(c, tokenQuerySchema),
      await deps(c, "API Tokens Read"),
    );
    return envelope(tokens, { resultInfo: info });
  });
  app.post(root, addsUnknownFields, async (c) => {
    const known = await deps(c, "API Tokens Edit");
    return envelope(await createToken(await readJson(c, tokenInputSchema, { platform }), known));
  });
  app.get(`${root}/:token_id`, async (c) =>
    envelope(showToken(await getToken(id(c), await deps(c, "API Tokens Read")), system.now())),
  );
  app.put(`${root}/:token_id`, addsUnknownFields, async (c) => {
    const known = await deps(c, "API Tokens Edit");
    return envelope(
      await updateToken(id(c), await readJson(c, tokenInputSchema, { platform }), known),
    );
  });
  app.delete(`${root}/:token_id`, async (c) => {
    const known = await deps(c, "API Tokens Edit");
    const { id: found } = await getToken(id(c), known);
    await store.remove(known.owner, found);
    return envelope({ id: found });
  });
  app.put(`${root}/:token_id/value`, async (c) =>
    envelope(await rollToken(id(c), await deps(c, "API Tokens Edit"))),
  );
}
