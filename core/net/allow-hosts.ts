import ipaddr from "ipaddr.js";
import { type ApiError, invalidRequest } from "../http/api-error.ts";
import { inRange, parseAddress } from "./address.ts";

/** The hosts that an operator lets through the egress guard, parsed by {@link parseAllowHosts}. */
export interface AllowHosts {
  /** Whether a name (or a literal) on a port is let through whatever it resolves to. */
  readonly host: (host: string, port: number) => boolean;
  /** Whether an address is let through whatever name it came from. */
  readonly address: (ip: string) => boolean;
}

/** Lets only public addresses through. */
export const allowNone: AllowHosts = { host: () => false, address: () => false };

interface HostRule {
  readonly name: string;
  readonly suffix: boolean;
  readonly port: number | null;
}

/**
 * Parses the entries of an allow list: `host`, `host:port`, `[v6]:port`, `*.suffix` (with or without a
 * port; the suffix itself is not meant) or a CIDR block such as `10.1.0.0/16`.
 *
 * @throws ApiError `invalid_request` for an entry of another form
 */
export function parseAllowHosts(entries: readonly string[] = []): AllowHosts {
  const ranges = entries.filter((entry) => entry.includes("/")).map(parseRange);
  const rules = entries.filter((entry) => !entry.includes("/")).map(parseRule);
  return {
    host: (host, port) => rules.some((rule) => matches(rule, normalHost(host), port)),
    address: (ip) => ranges.some((range) => inRange(ip, range)),
  };
}

/** A host in the form that rules are written in: lower case, no brackets, no trailing dot. */
export function normalHost(host: string): string {
  const bare = host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
  const lower = bare.toLowerCase();
  const name = lower.endsWith(".") ? lower.slice(0, -1) : lower;
  // One spelling per address: ::1 and 0:0::1 are the same rule.
  return parseAddress(name)?.toString() ?? name;
}

function matches(rule: HostRule, host: string, port: number): boolean {
  if (rule.port !== null && rule.port !== port) return false;
  return rule.suffix ? host.endsWith(`.${rule.name}`) : host === rule.name;
}

function parseRange(entry: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  if (!ipaddr.isValidCIDR(entry)) throw refuse(entry);
  return ipaddr.parseCIDR(entry);
}

function parseRule(entry: string): HostRule {
  if (parseAddress(entry) !== null) return { name: normalHost(entry), suffix: false, port: null };
  const match =
    /^(?<star>\*\.)?(?<host>\[[0-9a-f:.]+\]|[^\s:*/@?#\\[\]]+)(?::(?<port>\d{1,5}))?$/iu.exec(
      entry,
    );
  const groups = match?.groups;
  if (groups === undefined) throw refuse(entry);
  const port = groups["port"] === undefined ? null : Number(groups["port"]);
  if (port !== null && (port < 1 || port > 65_535)) throw refuse(entry);
  const url = URL.parse(`http://${groups["host"] ?? ""}/`);
  if (url === null) throw refuse(entry);
  return { name: normalHost(url.hostname), suffix: groups["star"] !== undefined, port };
}

function refuse(entry: string): ApiError {
  return invalidRequest(
    `Allow-list entry "${entry.slice(0, 100)}" is not a host, host:port, *.suffix or CIDR block`,
  );
}
