import type { GatewayName } from "./gateway-name.ts";

/** What an operator may declare for a gateway: such a gateway exists from the start. */
export interface DeclaredGateway {
  /** Whether requests need a gateway token. Outranks the stored setting. @default true */
  readonly authentication?: boolean | undefined;
  /** Gateway tokens beside the API tokens with the permission "AI Gateway Run". @default [] */
  readonly tokens?: readonly string[] | undefined;
}

/** The gateways that an operator declares. */
export interface DeclaredGateways {
  /** By their ids. */
  readonly gateways: Readonly<Record<string, DeclaredGateway>>;
  /** The account in which they exist; undefined = every account. */
  readonly accountId?: string | undefined;
}

/** The ids of the gateways that are declared in an account. */
export function declaredIds(account: string, { gateways, accountId }: DeclaredGateways): string[] {
  return accountId === undefined || accountId === account ? Object.keys(gateways) : [];
}

/** What is declared of a gateway; undefined when nothing is, not even that it exists. */
export function declaredGateway(
  { account, gateway }: GatewayName,
  { gateways, accountId }: DeclaredGateways,
): DeclaredGateway | undefined {
  const isHere = accountId === undefined || accountId === account;
  return isHere && Object.hasOwn(gateways, gateway) ? gateways[gateway] : undefined;
}
