export interface GatewayName {
  readonly account: string;
  readonly gateway: string;
}

export function actorName({ account, gateway }: GatewayName): string {
  return `${account}/${gateway}`;
}
