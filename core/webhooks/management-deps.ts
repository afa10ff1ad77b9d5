import type { Context, MiddlewareHandler } from "hono";
import { ApiError } from "../http/api-error.ts";
import type { Platform } from "../ports.ts";
import type { WebhookSource } from "./inbound/source.ts";

/** What the management routes work with. */
export interface ManagementDeps {
  readonly platform: Platform;
  /** The account that inbound events belong to. */
  readonly inboundAccount: string;
  readonly sources: ReadonlyMap<string, WebhookSource>;
  readonly read: MiddlewareHandler;
  readonly edit: MiddlewareHandler;
}

/** Throws 404 for an account that inbound events do not belong to. */
export function checkAccount(c: Context, deps: ManagementDeps): void {
  if (c.req.param("account_id") === deps.inboundAccount) return;
  throw new ApiError("not_found", { message: "This account receives no webhooks" });
}
