import type { HeaderPair } from "../../../ports.ts";
import type { Value } from "../../../http/json.ts";
import type { GatewayName } from "../settings/gateway-name.ts";
import type { Records } from "./records.ts";
import type { UseCounts } from "./use-counts.ts";

export interface CustomTarget {
  readonly baseUrl: string;
  /** Scheme, host and port of `baseUrl`; null for no address. */
  readonly origin: string | null;
  /** The origin of keys that were stored before each had one; null for none such. */
  readonly earlyKeyOrigin: string | null;
  /** Sent with every request. */
  readonly headers: readonly HeaderPair[];
  /** Changes with every change of the provider, so that no older cached answer is found. */
  readonly generation: string;
}

/** A provider whose stored key is wanted. */
export interface KeyHolder {
  readonly slug: string;
  /** Set for one of the management API. @default no caller can move the provider to another host */
  readonly custom?: CustomTarget | undefined;
}

/** The records of the management API that requests use: custom providers, keys, dynamic routes. */
export interface StoredProviders {
  /** A custom provider by its path segment; null when there is none. Throws `provider_unknown` for a disabled one. */
  custom(account: string, segment: string): Promise<CustomTarget | null>;
  /**
   * The stored key of a provider; null when there is none for a request that names no alias. Throws
   * `invalid_request` for an alias that is not stored (another key in its place would bill somebody else) and
   * `gateway_rate_limited` over the key's own limit. A key goes to the origin that it was stored for, to any other it is
   * `invalid_request`.
   */
  key(name: GatewayName, holder: KeyHolder, alias: string | undefined): Promise<string | null>;
  /** The same key without counting its use, for what stands in it beside a credential. */
  peek(name: GatewayName, holder: KeyHolder, alias: string | undefined): Promise<string | null>;
  /** Whether a key is stored for a provider, under this alias if one is named. */
  hasKey(name: GatewayName, segment: string, alias: string | undefined): Promise<boolean>;
  /** The elements of a dynamic route's deployed version; null when there is no such route. */
  route(name: GatewayName, route: string): Promise<DeployedRoute | null>;
  /** The names of custom providers that are enabled, as path segments, and of dynamic routes. */
  names(name: GatewayName): Promise<StoredNames>;
  /** Counts the uses of dynamic routes. */
  uses(name: GatewayName): Pick<Records, keyof UseCounts>;
}

/** Names that models of the unified endpoint can begin with. */
export interface StoredNames {
  readonly custom: readonly string[];
  readonly routes: readonly string[];
}

export interface DeployedRoute {
  readonly id: string;
  readonly elements: Value;
}
