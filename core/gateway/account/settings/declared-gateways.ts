import type { GatewayName } from "./gateway-name.ts";
import { type Value, ownMember } from "../../../http/json.ts";
import type { GatewayProviderOptions } from "./provider-options.ts";
import type { DeclaredModel } from "./declared-models.ts";
import type { DeclaredSettings, GatewaySettings } from "./settings.ts";

/** The settings that an operator may declare for a gateway: a declared gateway exists from the start. */
export interface DeclaredGateway {
  /** Whether requests need a gateway token. Outranks the stored setting. @default true */
  readonly authentication?: boolean | undefined;
  /**
   * Whether provider keys of the operator's, stored or configured, serve requests that no token opened the gateway for.
   * Outranks the stored setting `stored_keys_for_anonymous`. @default false
   */
  readonly storedKeysForAnonymous?: boolean | undefined;
  /** Gateway tokens beside the API tokens with the permission "AI Gateway Run". @default [] */
  readonly tokens?: readonly string[] | undefined;
  /** Settings by the names of the management API, which then cannot change them. @default {} */
  readonly settings?: DeclaredSettings | undefined;
  /** Provider keys by path segment: one, or several by their aliases. They outrank stored ones. @default {} */
  readonly keys?: Readonly<Record<string, DeclaredKey>> | undefined;
  /** Providers by path segment that are other ones than those of all gateways: their whole settings. @default {} */
  readonly providers?: Readonly<Record<string, GatewayProviderOptions>> | undefined;
  /** Names for models: of one, or of several that share the requests. @default {} */
  readonly models?: Readonly<Record<string, DeclaredModel>> | undefined;
  /** Elements of dynamic routes by their names. They outrank stored ones. @default {} */
  readonly routes?: Readonly<Record<string, Value>> | undefined;
}

/** A provider's key, or several by their aliases. */
export type DeclaredKey = string | Readonly<Record<string, string>>;

/** The gateways that an operator declares. */
export interface DeclaredGateways {
  /** By their ids. */
  readonly gateways: Readonly<Record<string, DeclaredGateway>>;
  /** The account in which they exist; undefined = every account. */
  readonly accountId?: string | undefined;
}

/** The settings of a gateway, with what is declared in place of what is stored. */
export function withDeclared(
  settings: GatewaySettings,
  { authentication, storedKeysForAnonymous: anonymous }: DeclaredGateway,
): GatewaySettings {
  if (authentication === undefined && anonymous === undefined) return settings;
  return {
    ...settings,
    ...(authentication === undefined ? {} : { authentication }),
    ...(anonymous === undefined ? {} : { stored_keys_for_anonymous: anonymous }),
  };
}

export function declaredIds(account: string, { gateways, accountId }: DeclaredGateways): string[] {
  return accountId === undefined || accountId === account ? Object.keys(gateways) : [];
}

/** Returns the declaration of a gateway; undefined when it is not declared at all. */
export function declaredGateway(
  { account, gateway }: GatewayName,
  { gateways, accountId }: DeclaredGateways,
): DeclaredGateway | undefined {
  const isHere = accountId === undefined || accountId === account;
  return isHere ? ownMember(gateways, gateway) : undefined;
}

/** The declared key of a provider under an alias; null when there is none. */
export function declaredKey(
  declaration: DeclaredGateway | undefined,
  segment: string,
  alias: string = DEFAULT_ALIAS,
): string | null {
  const key = ownMember(declaration?.keys ?? {}, segment);
  if (key === undefined) return null;
  if (typeof key === "string") return alias === DEFAULT_ALIAS ? key : null;
  return ownMember(key, alias) ?? null;
}

/** The alias of a stored key that is meant when a request names none. */
export const DEFAULT_ALIAS = "default";
