import type { Context, Hono, MiddlewareHandler } from "hono";
import * as v from "valibot";
import { type ActorClient, actorClient } from "../../actors/actor-client.ts";
import type { Auth } from "../../auth/authorize.ts";
import { bearerToken } from "../../auth/bearer.ts";
import { isLinkShaped, newLinkToken } from "../../auth/token-format.ts";
import { sha256Hex } from "../../crypto/digest.ts";
import { outboundSender } from "../../entity/outbound.ts";
import { ApiError, conflict } from "../../http/api-error.ts";
import { envelope } from "../../http/envelope.ts";
import { readJson } from "../../http/fields/body.ts";
import { formatInstant } from "../../http/fields/instant.ts";
import { addUnknownFields } from "../../http/fields/unknown-fields.ts";
import { answerOrigin } from "../../net/public-url.ts";
import type { Actors, Platform } from "../../ports.ts";
import { type OwnSender, ownRoutes, outboundOf, senderOf } from "../outbound/outbound-routes.ts";
import { type PortalLink, portalLinksKind, type PortalLinkMethods } from "./portal-links.ts";

/** The page that customers open, below the origin of the server. */
export type PortalPage = { readonly path: string; readonly publicUrl: string | undefined };

/** A checked body of `POST …/applications/:application_id/portal`. */
export type PortalInput = { readonly expires_seconds: number; readonly read_only: boolean };

/** Body of `POST …/applications/:application_id/portal`; may be left out. */
export const portalInput: v.GenericSchema<unknown, PortalInput> = v.object({
  /** Seconds for which the link can be used. */
  expires_seconds: v.optional(
    v.pipe(v.number(), v.integer(), v.minValue(60), v.maxValue(7 * 86_400)),
    3600,
  ),
  /** Whether the customer may only look. */
  read_only: v.optional(v.boolean(), false),
});

/** A link to the portal, whose token is shown this once. */
export type PortalLinkView = {
  readonly token: string;
  /** The page with the token behind it, which no server's log gets; null if this server serves no page. */
  readonly url: string | null;
  readonly read_only: boolean;
  readonly expires_at: string;
};

/** The application that the portal shows. */
export type PortalView = {
  readonly application: string;
  readonly name: string | null;
  readonly read_only: boolean;
  readonly expires_at: string;
};

interface PortalDeps {
  readonly platform: Platform;
  readonly auth: Auth;
  readonly edit: MiddlewareHandler;
  readonly page: PortalPage | null;
}

const linksOf = (actors: Pick<Actors, "get">): ActorClient<PortalLinkMethods> =>
  actorClient(actors.get(portalLinksKind.name, "all"));

/** Adds the routes below `base` by which an account makes links for a customer, and ends them. */
export function portalLinkRoutes(app: Hono, base: string, deps: PortalDeps): void {
  const { edit, page, platform } = deps;
  const path = `${base}/applications/:application_id/portal`;
  const idOf = (c: Context): string => c.req.param("application_id") ?? "";
  app.post(path, edit, async (c) => {
    const input = await readJson(c, portalInput, { optional: true, platform });
    const { id } = await outboundOf(platform, c).getApplication(idOf(c));
    const token = newLinkToken((length) => platform.system.random(length));
    const expires = platform.system.now() + input.expires_seconds * 1000;
    const link = {
      hash: await sha256Hex(token),
      account: c.req.param("account_id") ?? "",
      application: id,
      readOnly: input.read_only,
      expires,
    };
    if (!(await linksOf(platform.actors).add(link))) {
      const message =
        "An account has at most 1000 valid links to the portal: wait until some have expired";
      throw conflict(message);
    }
    // Deleted meanwhile: the link would open a later application of the same id.
    await outboundOf(platform, c)
      .getApplication(id)
      .catch(async (error: unknown) => {
        if (error instanceof ApiError && error.status === 404)
          await endLinks(platform, link.account, id);
        throw error;
      });
    const view: PortalLinkView = {
      token,
      url: page && `${answerOrigin(c.req.raw, page.publicUrl)}${page.path}#${token}`,
      read_only: input.read_only,
      expires_at: formatInstant(expires),
    };
    return envelope(view, { status: 201 });
  });
  app.delete(path, edit, async (c) => {
    const { id } = await outboundOf(platform, c).getApplication(idOf(c));
    await endLinks(platform, c.req.param("account_id") ?? "", id);
    return envelope({ id });
  });
}

/** Adds the routes below `base` that a customer uses: those of the application that the token of a link is of. */
export function portalRoutes(app: Hono, base: string, deps: PortalDeps): void {
  const { platform } = deps;
  platform.actors.define(portalLinksKind);
  const sender = async (c: Context): Promise<OwnSender> => {
    const { account, application } = linkOf(c);
    return senderOf(await outboundSender(platform.actors, account, application));
  };
  const read = guard(deps, false);
  app.get(base, read, async (c) => {
    const { account, application, expires, readOnly } = linkOf(c);
    const { name } = await outboundOf(platform, account).getApplication(application);
    const shown = { application, name, read_only: readOnly, expires_at: formatInstant(expires) };
    return envelope(shown satisfies PortalView);
  });
  ownRoutes(app, base, { platform, read, edit: guard(deps, true), sender });
}

/** Ends the links of an application, which is deleted. */
export function endLinks(
  { actors }: Pick<Platform, "actors">,
  account: string,
  application: string,
): Promise<void> {
  return linksOf(actors).end(account, application);
}

const LINK = "portal-link";

function linkOf(c: Context): PortalLink {
  // `as`: set by the guard in front of every route, and nowhere else.
  return c.get(LINK) as PortalLink;
}

/** Guards a route: 401 without the token of a link, 403 for a change by one that may only look. */
function guard({ auth, platform }: PortalDeps, changes: boolean): MiddlewareHandler {
  const logins = auth === "off" ? undefined : auth.logins;
  return async (c, next) => {
    const token = bearerToken(c.req.header("authorization") ?? null);
    if (token !== null) logins?.check(token, c.req.raw);
    const link =
      token !== null && isLinkShaped(token)
        ? await linksOf(platform.actors).find(await sha256Hex(token))
        : null;
    if (link === null) {
      // A request without a token does not guess one.
      if (token !== null) logins?.failed(c.req.raw);
      const message =
        token === null
          ? 'No token was sent: open the link, or send the token behind its "#" as "Authorization: Bearer <TOKEN>"'
          : "The link has expired: ask for another one";
      throw new ApiError("unauthorized", { message });
    }
    if (changes && link.readOnly)
      throw new ApiError("forbidden", {
        message: "This link is read-only: it cannot change anything",
      });
    c.set(LINK, link);
    await next();
    const adding = addUnknownFields(c);
    if (adding !== undefined) await adding;
  };
}
