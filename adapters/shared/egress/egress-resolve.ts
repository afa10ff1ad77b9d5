import { lookup, Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { checkAddress, checkHost } from "../../../core/net/check-url.ts";
import type { AllowHosts } from "../../../core/net/allow-hosts.ts";
import { TransportError } from "../../../core/net/transport-error.ts";

export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/**
 * Resolves a name to every address it has, until `signal` gives up; injectable so that tests can play a hostile DNS
 * server.
 */
export type Resolve = (host: string, signal: AbortSignal) => Promise<readonly ResolvedAddress[]>;

/** Milliseconds for a name to be resolved: a hostile DNS server may never answer. */
const RESOLVE_MS = 10_000;
/** Milliseconds for a DNS server to answer one of two attempts; the second one waits longer. */
const DNS_TRY_MS = 2500;

/** Asks the system's resolver, hosts file and search list included. */
export const systemResolve: Resolve = async (host) => {
  const found = await lookup(host, { all: true, order: "verbatim" });
  return found.map(({ address }) => ({ address, family: isIP(address) === 6 ? 6 : 4 }));
};

/**
 * Asks DNS alone. The system's resolver would hold a thread until the last of its own timeouts, and Node lets it have two
 * for the whole process: two names whose servers never answer would stop every other connection
 * (https://docs.libuv.org/en/v1.x/threadpool.html, https://nodejs.org/api/dns.html#implementation-considerations).
 */
export function dnsResolver(servers?: readonly string[]): Resolve {
  return async (host, signal) => {
    const resolver = new Resolver({ timeout: DNS_TRY_MS, tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    const cancel = (): void => resolver.cancel();
    signal.addEventListener("abort", cancel, { once: true });
    const [four, six] = await Promise.allSettled([
      resolver.resolve4(host),
      resolver.resolve6(host),
    ]);
    signal.removeEventListener("abort", cancel);
    if (four.status === "rejected" && six.status === "rejected") {
      // No DNS server is configured, so no hostile one can answer either.
      if (codeOf(four.reason) === "ECONNREFUSED") return systemResolve(host, signal);
      throw four.reason;
    }
    return [...allOf(four, 4), ...allOf(six, 6)];
  };
}

/** {@link dnsResolver} with the servers of the system. */
export const dnsResolve: Resolve = dnsResolver();

function allOf(answer: PromiseSettledResult<readonly string[]>, family: 4 | 6): ResolvedAddress[] {
  return answer.status === "rejected" ? [] : answer.value.map((address) => ({ address, family }));
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

/**
 * Chooses the resolver. The operator's own names, and names without a dot, which only the search list completes, do not
 * come from an attacker.
 */
export function resolverOf(host: string, port: number, allow: AllowHosts): Resolve {
  return allow.host(host, port) || !host.includes(".") ? systemResolve : dnsResolve;
}

/** The names that may be inside, and how they are resolved. */
export interface Resolving {
  readonly allow: AllowHosts;
  readonly resolve?: Resolve | undefined;
  readonly withinMs?: number | undefined;
}

/**
 * Resolves a host once and checks every address: the caller must dial one of exactly these. An answer that mixes public and
 * private addresses is refused as a whole, because a dialler may pick any of them.
 * @throws TransportError `refused` when the guard says no, `unreachable` without an address within `withinMs`
 */
export async function resolveChecked(
  host: string,
  port: number,
  { allow, resolve = resolverOf(host, port, allow), withinMs = RESOLVE_MS }: Resolving,
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
  const given = new AbortController();
  const timer = setTimeout(() => {
    given.abort();
    late.reject(
      new TransportError("unreachable", `${name} was not resolved in ${withinMs} ms`, {
        failure: "dns",
      }),
    );
  }, withinMs);
  try {
    const addresses = await Promise.race([resolve(host, given.signal), late.promise]);
    if (addresses.length === 0)
      throw new TransportError("unreachable", `${name} has no address`, { failure: "dns" });
    return addresses;
  } catch (error) {
    if (error instanceof TransportError) throw error;
    throw new TransportError("unreachable", `${name} could not be resolved`, {
      cause: error,
      failure: "dns",
    });
  } finally {
    clearTimeout(timer);
  }
}

function refused(host: string): TransportError {
  return new TransportError("refused", `The host "${host.slice(0, 100)}" is not a public address`);
}
