/** Names one gateway. */
export interface GatewayName {
  readonly account: string;
  readonly gateway: string;
}

/** The name of a gateway's actor. */
export function actorName({ account, gateway }: GatewayName): string {
  return `${account}/${gateway}`;
}
