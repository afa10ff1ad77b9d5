import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * Ranges inside 2000::/3 that reach something else than the public internet: protocol assignments with
 * Teredo (2001::/23), documentation (RFC 3849, RFC 9637), 6to4 (RFC 7526), AS112 and direct delegation.
 */
const unsafeGlobal: readonly [ipaddr.IPv6, number][] = [
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "2620:4f:8000::/48",
  "3fff::/20",
].map((cidr) => ipaddr.IPv6.parseCIDR(cidr));

const globalUnicast: [ipaddr.IPv6, number] = ipaddr.IPv6.parseCIDR("2000::/3");

/** An IP literal, with IPv4-mapped IPv6 unmapped; null for anything else, zone ids included. */
export function parseAddress(text: string): Address | null {
  // The URL parser has made every odd spelling (hex, octal, one number) canonical before: here only
  // the two canonical forms count, so that a name is never taken for an address or the reverse.
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (!text.includes(":") || text.includes("%") || !ipaddr.IPv6.isValid(text)) return null;
  const address = ipaddr.IPv6.parse(text);
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/**
 * Whether an IP address belongs to the public internet. Everything else is refused: loopback, private, link-local and
 * metadata, shared, documentation, benchmarking, multicast, reserved, and the IPv6 forms that embed an IPv4 address
 * (64:ff9b::/96, 2002::/16, Teredo); IPv4-mapped addresses count as the address inside. Any other text is not public.
 */
export function isPublicAddress(ip: string): boolean {
  const address = parseAddress(ip);
  return address !== null && isPublic(address);
}

function isPublic(address: Address): boolean {
  if (address instanceof ipaddr.IPv4) return address.range() === "unicast";
  // Only 2000::/3 is assigned for global unicast (RFC 4291 section 2.4): addresses outside cannot be public.
  return address.match(globalUnicast) && !unsafeGlobal.some((range) => address.match(range));
}

/** Whether an address lies in a CIDR block of the same family. */
export function inRange(ip: string, range: readonly [Address, number]): boolean {
  const address = parseAddress(ip);
  return (
    address !== null && address.kind() === range[0].kind() && address.match([range[0], range[1]])
  );
}
