import { isPublicAddress, parseAddress } from "./address.ts";
import { allowNone, normalHost, type AllowHosts } from "./allow-hosts.ts";

/** A URL that the guard lets through, or the reason why not (safe to show to the caller). */
export type UrlVerdict =
  | { readonly ok: true; readonly url: URL; readonly host: string; readonly port: number }
  | { readonly ok: false; readonly reason: string };

/** Why a verdict refuses; null when it does not. */
export function reasonOf(verdict: UrlVerdict): string | null {
  return verdict.ok ? null : verdict.reason;
}

/** Names that never mean a public host (RFC 6761, RFC 6762, RFC 8375, ICANN's .internal). */
const localNames: readonly string[] = [
  "localhost",
  "local",
  "internal",
  "home.arpa",
  "localdomain",
];

/**
 * Checks a URL before anything is resolved: http or https, no user name or password, no local name and no
 * address literal that is not public, after the URL parser has made every spelling canonical
 * (`0x7f.1`, `2130706433`, `[::ffff:7f00:1]`, `LOCALHOST.`). A name still has to pass
 * {@link checkAddress} with every address it resolves to.
 */
export function checkUrl(input: string | URL, allow: AllowHosts = allowNone): UrlVerdict {
  const url = typeof input === "string" ? URL.parse(input) : input;
  if (url === null) return { ok: false, reason: invalidUrl(String(input)) };
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return {
      ok: false,
      reason: `The URL scheme "${url.protocol.slice(0, 20)}" is not allowed: use http or https`,
    };
  }
  if (url.username !== "" || url.password !== "") {
    return { ok: false, reason: "A user name or password in a URL is not allowed" };
  }
  const host = normalHost(url.hostname);
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  if (!checkHost(host, port, allow)) {
    return { ok: false, reason: `The host "${host.slice(0, 100)}" is not a public address` };
  }
  return { ok: true, url, host, port };
}

/** Says that a text is not a URL, and which one was probably meant. */
export function invalidUrl(text: string): string {
  const meant = URL.parse(`https://${text}`);
  const isHost =
    meant !== null && /^[\w.-]+\.[a-z]{2,}$/iu.test(meant.hostname) && !/\s/u.test(text);
  return `The URL is not valid${isHost ? `: did you mean "https://${text.slice(0, 100)}"?` : ""}`;
}

/** Whether a host (name or literal) may be resolved and dialled at all. */
export function checkHost(host: string, port: number, allow: AllowHosts = allowNone): boolean {
  const name = normalHost(host);
  if (name === "" || name.length > 253) return false;
  if (allow.host(name, port)) return true;
  if (parseAddress(name) !== null) return allow.address(name) || isPublicAddress(name);
  return !localNames.some((local) => name === local || name.endsWith(`.${local}`));
}

/** Whether an address that `host` resolved to may be dialled. */
export function checkAddress(
  host: string,
  port: number,
  ip: string,
  allow: AllowHosts = allowNone,
): boolean {
  return isPublicAddress(ip) || allow.address(ip) || allow.host(host, port);
}
