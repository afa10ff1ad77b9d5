import { type Auth, principalOf } from "../../auth/authorize.ts";
import { jwtExpiry } from "../../auth/jwt.ts";
import { closeReason, refusalOf, untilRefused } from "../../auth/while-permitted.ts";
import { sha256Hex } from "../../crypto/digest.ts";
import { ApiError } from "../../http/api-error.ts";
import type { Connection, Platform } from "../../ports.ts";
import { TIMER_OVER } from "../../time/timer-over.ts";
import type { Holder, Reviewer } from "../define/services.ts";
import { grantOf } from "../protocol/grant.ts";
import { accessOfPrincipal, shownToken, type Access } from "./access.ts";

export interface ReviewerDeps {
  readonly platform: Pick<Platform, "log" | "system">;
  /** The apps that open connections; several if a class is served more than once. */
  readonly apps: readonly AppAuth[];
}

/** The authentication of the clients of one app. */
export interface AppAuth {
  readonly auth: Auth;
  readonly account: string;
}

/** The reviewer of a process. It alone keeps the tokens themselves, in memory. */
export function startReviewer({ platform, apps }: ReviewerDeps): Reviewer {
  const { log, system } = platform;
  const watched = new WeakMap<Connection, AbortController>();

  async function look(connection: Connection, token: string | null): Promise<void> {
    const { holder } = grantOf(connection);
    if (holder === null) return;
    const access = await currentAccess(holder, token);
    const grant = grantOf(connection);
    if (grant.edit && !access.edit)
      connection.attachment = { ...grant, edit: false, readonly: true };
  }

  async function currentAccess({ hash, until }: Holder, token: string | null): Promise<Access> {
    if (until !== null && until <= system.now()) throw ended();
    let current: Access | null = null;
    for (const { auth, account } of apps) {
      if (auth === "off") return { edit: true };
      // The token of a host's own authentication, or of an issuer, cannot be asked for by its hash.
      if (token === null && (until !== null || auth.byHash === undefined)) return { edit: true };
      const found = await (token === null ? auth.byHash?.(hash) : principalOf(auth, token));
      const access = found == null ? null : accessOfPrincipal(found, account);
      if (access?.edit === true) return access;
      current ??= access;
    }
    if (current === null) throw ended();
    return current;
  }

  const close = (connection: Connection, refusal: ApiError): void =>
    connection.close(1008, closeReason(refusal));

  return {
    async holderOf(request) {
      const token = shownToken(request);
      if (token === null) return null;
      return { hash: await sha256Hex(token), until: jwtExpiry(token) };
    },
    watch(connection, request) {
      const over = new AbortController();
      const token = shownToken(request);
      watched.set(connection, over);
      const review = (): Promise<void> => look(connection, token);
      void untilRefused(review, platform, over.signal).catch((error: unknown) => {
        if (error instanceof ApiError) close(connection, error);
      });
    },
    unwatch: (connection) => watched.get(connection)?.abort(TIMER_OVER),
    async review(connection) {
      const refusal = await refusalOf(() => look(connection, null), log);
      if (refusal !== null) close(connection, refusal);
    },
  };
}

function ended(): ApiError {
  return new ApiError("unauthorized", {
    message: "The token of this connection may not read this agent any longer",
  });
}
