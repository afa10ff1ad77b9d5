import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { checkAddress, checkHost } from "../../../core/net/check-url.ts";
import type { AllowHosts } from "../../../core/net/allow-hosts.ts";
import { TransportError } from "../../../core/transport-error.ts";

/** An address that a name resolved to. */
export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Resolves a name to every address it has; injectable so that tests can play a hostile DNS server. */
export type Resolve = (host: string) => Promise<readonly ResolvedAddress[]>;

/** Milliseconds for a name to be resolved: a hostile DNS server may never answer. */
const RESOLVE_MS = 10_000;

/** Asks the system's resolver, hosts file included. */
export const systemResolve: Resolve = async (host) => {
  const found = await lookup(host, { all: true, order: "verbatim" });
  return found.map(({ address }) => ({ address, family: isIP(address) === 6 ? 6 : 4 }));
};

/**
 * Resolves a host once and checks every address: the caller must dial one of exactly these. An answer that
 * mixes public and private addresses is refused as a whole, because which one a dialler picks is chance.
 *
 * @throws TransportError `refused` when the guard says no, `unreachable` when the name has no address or none within `withinMs`
 */
export async function resolveChecked(
  host: string,
  port: number,
  allow: AllowHosts,
  resolve: Resolve = systemResolve,
  withinMs: number = RESOLVE_MS,
): Promise<readonly ResolvedAddress[]> {
  if (!checkHost(host, port, allow)) throw refused(host);
  const literal = isIP(host);
  const addresses: readonly ResolvedAddress[] =
    literal === 0
      ? await resolveName(host, resolve, withinMs)
      : [{ address: host, family: literal === 6 ? 6 : 4 }];
  if (!addresses.every(({ address }) => checkAddress(host, port, address, allow)))
    throw refused(host);
  return addresses;
}

async function resolveName(
  host: string,
  resolve: Resolve,
  withinMs: number,
): Promise<readonly ResolvedAddress[]> {
  const name = `The name "${host.slice(0, 100)}"`;
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new TransportError("unreachable", `${name} was not resolved in ${withinMs} ms`));
  }, withinMs);
  try {
    const addresses = await Promise.race([resolve(host), late.promise]);
    if (addresses.length === 0) throw new TransportError("unreachable", `${name} has no address`);
    return addresses;
  } catch (error) {
    if (error instanceof TransportError) throw error;
    throw new TransportError("unreachable", `${name} could not be resolved`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

function refused(host: string): TransportError {
  return new TransportError("refused", `The host "${host.slice(0, 100)}" is not a public address`);
}
