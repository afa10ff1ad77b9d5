import { misspelling } from "../../text/nearest.ts";
import type { Context } from "hono";
import type { Auth } from "../../auth/authorize.ts";
import { decodeName } from "../../entity/name.ts";
import { rawSegment } from "../../entity/segments.ts";
import { ApiError } from "../../http/api-error.ts";
import { readJson } from "../../http/fields/body.ts";
import type { ActorRef, Platform } from "../../ports.ts";
import { refusedOrigin } from "../../http/origins/cors.ts";
import { accessOf, type Access } from "./access.ts";
import type { AgentClass } from "../kind/define-agent.ts";
import { ticketInput, tickets, type Issued } from "./ticket.ts";

export interface NamedAgent {
  readonly found: AgentClass;
  readonly ref: ActorRef;
  /** Class and name. */
  readonly agent: string;
}

/** A client that connects or follows. */
export interface Visitor extends NamedAgent {
  readonly access: Access;
  /**
   * Checks again that the token still has its permissions; throws 401 or 403. A ticket is checked only once: the
   * connection that it opened may outlast it.
   */
  readonly review: () => Promise<unknown>;
}

/** Finds the agent of a request and the rights of its caller. */
export interface Admission {
  /** Throws 404 for an unknown class, 400 for a malformed name. */
  find(c: Context): NamedAgent;
  /** Checks a request that needs a token. Throws 401 or 403. */
  caller(c: Context): Promise<Access>;
  /** Checks a request to connect or to follow, which may show a ticket instead of a token. Throws 401, 403, 404. */
  visitor(c: Context): Promise<Visitor>;
  /** Issues a ticket to a caller with a token. */
  ticket(c: Context): Promise<Issued>;
}

export interface AdmissionDeps {
  readonly platform: Platform;
  readonly accountId: string;
  readonly auth: Auth;
  readonly classes: ReadonlyMap<string, AgentClass>;
  readonly origins: readonly string[] | undefined;
}

/** Admission to the agents of an account. */
export function startAdmission(deps: AdmissionDeps): Admission {
  const { accountId, auth, classes, origins, platform } = deps;
  const issuer = tickets(platform, accountId);

  function find(c: Context): NamedAgent {
    const wanted = decodeName(rawSegment(c, "class"));
    const found = classes.get(wanted);
    if (found === undefined) throw noClass(wanted.slice(0, 64), [...classes.keys()]);
    const name = decodeName(rawSegment(c, "name"));
    const ref = platform.actors.get(found.kind.name, name);
    return { found, ref, agent: `${found.name}/${name}` };
  }
  const caller = (c: Context): Promise<Access> => accessOf(auth, c.req.raw, accountId);

  return {
    find,
    caller,
    async visitor(c) {
      const { headers } = c.req.raw;
      const refused = origins === undefined ? null : refusedOrigin(c.req.raw, origins);
      if (refused !== null) throw refused;
      const shown = headers.has("authorization") ? undefined : c.req.query("ticket");
      if (shown === undefined) {
        const access = await caller(c);
        return { ...find(c), access, review: () => caller(c) };
      }
      const target = find(c);
      const wanted = { agent: target.agent, account: accountId, origin: headers.get("origin") };
      const access = await issuer.check(shown, wanted);
      return { ...target, access, review: () => Promise.resolve() };
    },
    async ticket(c) {
      const access = await caller(c);
      const { agent } = find(c);
      const body = await readJson(c, ticketInput, { optional: true, platform });
      const { edit, origin, ttl_seconds: seconds } = body;
      if (edit && !access.edit) throw needsEdit();
      return issuer.issue({ agent, account: accountId, edit, origin: origin ?? null }, seconds);
    },
  };
}

/** Makes the 404. It offers only a surely misspelt name, because any ticket is enough to get this answer. */
function noClass(name: string, known: readonly string[]): ApiError {
  const meant = misspelling(name, known);
  const hint = meant === undefined ? "" : `: did you mean "${meant}"?`;
  return new ApiError("not_found", { message: `No agent class "${name}"${hint}` });
}

/** The 403 for a token without "Agents Edit". */
export function needsEdit(): ApiError {
  return new ApiError("forbidden", { message: 'The token lacks the permission "Agents Edit"' });
}
