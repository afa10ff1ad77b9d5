import { attached } from "../http/attached.ts";
import { parseAddress } from "./address.ts";
import type { Platform } from "../ports.ts";

const originals = attached<Request>("original-request");

/**
 * Each copy with the request that it was made of, by the copy's signal. Node passes an abort on only while both requests
 * exist, and parts that have read a request keep nothing of it but its signal.
 */
const kept = attached<readonly Request[]>("requests-of-signal");

/**
 * Notes that a request is a copy of another one, so that its client is still known and an abort still reaches it; returns
 * the copy.
 */
export function copyOf(original: Request, copy: Request): Request {
  if (copy === original) return copy;
  originals.set(copy, originals.get(original) ?? original);
  kept.set(copy.signal, [copy, original]);
  return copy;
}

/**
 * The address of a request's client as the network or the last of `proxies` proxies reports it; empty when it is
 * unknown. Each proxy appends the address that it sees to `X-Forwarded-For`: entries further left come from the client.
 */
export function clientAddress(
  request: Request,
  platform: Pick<Platform, "clientAddress" | "received">,
  proxies: number,
): string {
  const arrived = originals.get(request) ?? request;
  if (proxies > 0) {
    const hops = forwardedFor(arrived, platform).split(",");
    const hop = hops.at(-proxies)?.trim() ?? "";
    if (hop !== "") return hop;
  }
  return platform.clientAddress?.(arrived) ?? "";
}

function forwardedFor(request: Request, platform: Pick<Platform, "received">): string {
  // Reading `Headers` creates them, which takes the gateway off its fast path.
  const pairs = platform.received?.(request)?.headers;
  if (pairs === undefined) return request.headers.get("x-forwarded-for") ?? "";
  return pairs.find(([name]) => name === "x-forwarded-for")?.[1] ?? "";
}

/** The network that one client can choose addresses from: an IPv4 address, or the first 64 bits of an IPv6 address. */
export function clientNetwork(address: string): string {
  // Some proxies add the port.
  const bare = /^\[(.*)\](?::\d+)?$/.exec(address)?.[1] ?? address.replace(/^([\d.]+):\d+$/, "$1");
  const parsed = parseAddress(bare.split("%", 1)[0] ?? "");
  if (parsed === null) return "";
  const bytes = parsed.toByteArray();
  if (bytes.length === 4) return parsed.toString();
  return `${bytes
    .slice(0, 8)
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("")}/64`;
}
