import type { InferenceParts } from "../entry/inference.ts";
import type { Platform } from "../../ports.ts";
import type { ResumableRuns } from "../entry/resume-run.ts";
import type { GatewayStore } from "../account/gateways/store.ts";
import type { KeyStore } from "../account/keys/key-store.ts";
import type { GatewayMetrics } from "../observe/metrics/metrics.ts";
import type { LogQueue } from "../observe/log/log-queue.ts";
import type { SpendDays } from "../observe/spend/spend-days.ts";
import type { AccountPrices } from "../prices/account-prices.ts";
import type { Vault } from "../account/records/vault.ts";
import type { Context, Hono, MiddlewareHandler } from "hono";
import { type Auth, authorize } from "../../auth/authorize.ts";
import { invalidRequest } from "../../http/api-error.ts";
import { envelope } from "../../http/envelope.ts";
import { checkQuery } from "../../http/fields/query.ts";
import type { SafetyOptions } from "../guard/checkers/policies.ts";
import type { DeclaredGateways } from "../account/settings/declared-gateways.ts";
import type { GatewayName } from "../account/settings/gateway-name.ts";
import { type ListPage, listPage, resultInfo } from "./list-page.ts";
import { ECHO, providers } from "../providers/known/table.ts";
import type { ProviderOptions } from "../account/settings/provider-options.ts";
import { CUSTOM_PREFIX, unknownProvider } from "../providers/target.ts";
import type { RecordStore } from "../account/records/records.ts";

/** The API root of a whole platform; the gateway is beside it. */
export const API_ROOT = "/client/v4";

/** The path below which the management API lives. */
export const MANAGEMENT_ROOT = "/accounts/:account_id/ai-gateway";

export interface GatewayManagementDeps extends InferenceParts {
  readonly platform: Platform;
  readonly store: GatewayStore;
  readonly keys: KeyStore;
  /** The stored records, and the vault that seals their secrets. */
  readonly records: RecordStore;
  readonly vault: Vault;
  readonly prices: AccountPrices;
  /** @default nothing is counted */
  readonly metrics?: GatewayMetrics | undefined;
  readonly spend: SpendDays;
  readonly logs: Pick<LogQueue, "settle">;
  /** Streams that can be taken up again. @default none */
  readonly resume?: ResumableRuns | undefined;
  /** Providers of the configuration. */
  readonly configured: Readonly<Record<string, ProviderOptions>>;
  /** Gateways of the configuration. */
  readonly declared: DeclaredGateways;
  /** The path that clients write before that of a request. */
  readonly mountPath: string;
  /** The origin of addresses in answers. */
  readonly publicUrl: string | undefined;
  /** The checks that a gateway's settings can ask for. */
  readonly safety: SafetyOptions;
}

export type ManagementRoutes = (app: Hono, deps: GatewayManagementDeps) => void;

export function guards(auth: Auth): { read: MiddlewareHandler; edit: MiddlewareHandler } {
  return { read: authorize(auth, "AI Gateway Read"), edit: authorize(auth, "AI Gateway Edit") };
}

export function gatewayNameOf(c: Context): GatewayName {
  return { account: c.req.param("account_id") ?? "", gateway: c.req.param("gateway_id") ?? "" };
}

/** The id that a path names beside its gateway. */
export function idOf(c: Context): string {
  return c.req.param("id") ?? "";
}

/** The page that a query asks for, which has no other parameters than `others`. */
export function pageOfQuery(c: Context, others: readonly string[] = []): ListPage {
  checkQuery(c, ["page", "per_page", ...others]);
  return listPage((name) => c.req.query(name));
}

/** The answer to a list request: what is on the page, of `total` in all. */
export function listAnswer(shown: readonly unknown[], page: ListPage, total: number): Response {
  return envelope(shown, { resultInfo: resultInfo(page, shown.length, total) });
}

/** A query parameter that is `true` or `false`; undefined when it is not given. */
export function flagOf(c: Context, name: string): boolean | undefined {
  const text = c.req.query(name);
  if (text === undefined || text === "") return undefined;
  if (text === "true" || text === "false") return text === "true";
  throw invalidRequest(`${name}: expected "true" or "false", got "${text.slice(0, 32)}"`);
}

/** Whether a path segment names a provider: built in, configured, or defined in the account. */
export async function isProvider(
  segment: string,
  account: string,
  { configured, records }: Pick<GatewayManagementDeps, "configured" | "records">,
): Promise<boolean> {
  if (segment === ECHO || Object.hasOwn(providers, segment)) return true;
  if (Object.hasOwn(configured, segment)) return true;
  if (!segment.startsWith(CUSTOM_PREFIX) || segment.length > 80) return false;
  const slug = segment.slice(CUSTOM_PREFIX.length);
  return (await records.ofAccount(account).find("custom_provider", slug)) !== null;
}

/** Throws `provider_unknown` when a path segment names no provider. */
export async function checkProvider(
  segment: string,
  account: string,
  deps: Pick<GatewayManagementDeps, "configured" | "records">,
): Promise<void> {
  if (await isProvider(segment, account, deps)) return;
  throw unknownProvider(segment);
}
