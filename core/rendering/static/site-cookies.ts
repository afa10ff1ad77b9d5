import type { HeaderPair } from "../../ports.ts";
import type { Cookie } from "../input/body.ts";

/** Cookies of one load, and the characters of each: a site may send any number. */
const COOKIES = 50;
const COOKIE_LIMIT = 4096;

/** The cookies that sites set on the way through redirects. */
export interface SiteCookies {
  /** Reads the `set-cookie` headers of an answer. */
  note(url: URL, headers: readonly HeaderPair[]): void;
  /** The `cookie` header of the next request, with the caller's cookies before those of the sites; "" for none. */
  headerFor(url: URL, own: readonly Cookie[]): string;
}

/**
 * Keeps the cookies of one load as a browser does (RFC 6265, section 5), so that a site that asks for its cookie back
 * does not redirect for ever.
 */
export function siteCookies(): SiteCookies {
  const kept = new Map<string, Cookie>();
  return {
    note(url, headers) {
      const now = Date.parse(headers.find(([name]) => name.toLowerCase() === "date")?.[1] ?? "");
      for (const [name, value] of headers) {
        if (name.toLowerCase() !== "set-cookie" || value.length > COOKIE_LIMIT) continue;
        const read = readCookie(value, url, now);
        if (read === null) continue;
        const { cookie, isOver } = read;
        const key = [cookie.name, cookie.domain ?? cookie.url, cookie.path].join(" ");
        kept.delete(key);
        if (!isOver && kept.size < COOKIES) kept.set(key, cookie);
      }
    },
    headerFor(url, own) {
      const sites = [...kept.values()].filter((cookie) => isFor(cookie, url));
      const names = new Set(sites.map(({ name }) => name));
      return [...own.filter((cookie) => isFor(cookie, url) && !names.has(cookie.name)), ...sites]
        .map(({ name, value }) => `${name}=${value}`)
        .filter((pair) => /^[\x21-\x3a\x3c-\x7e]+$/u.test(pair))
        .join("; ");
    },
  };
}

/** Whether a cookie goes to an address. One without `domain` and `url` is of that address's host. */
function isFor({ domain, url: own, path = "/", secure = false }: Cookie, url: URL): boolean {
  const host = url.hostname;
  const name = domain?.replace(/^\./u, "").toLowerCase() ?? URL.parse(own ?? "")?.hostname ?? host;
  const isHost = host === name || (domain !== undefined && host.endsWith(`.${name}`));
  const isPath = url.pathname === path || url.pathname.startsWith(path.replace(/\/?$/u, "/"));
  return isHost && isPath && (!secure || url.protocol === "https:");
}

/** A cookie as it came, and whether a site deletes it. */
interface ReadCookie {
  readonly cookie: Cookie;
  readonly isOver: boolean;
}

/** Reads one `set-cookie`; null for one that a browser would not keep. `now` is the site's own clock, in ms. */
function readCookie(text: string, url: URL, now: number): ReadCookie | null {
  const [pair = "", ...rest] = text.split(";");
  const at = pair.indexOf("=");
  const attributes = new Map(rest.map((part) => readAttribute(part)));
  const place = placeOf(attributes.get("domain") ?? "", url);
  if (at < 1 || place === null) return null;
  const cookie: Cookie = {
    ...place,
    name: pair.slice(0, at).trim(),
    value: pair.slice(at + 1).trim(),
    path: pathOf(attributes.get("path") ?? "", url),
    secure: attributes.has("secure"),
  };
  const age = attributes.get("max-age");
  const until = Date.parse(attributes.get("expires") ?? "");
  return { cookie, isOver: age === undefined ? until <= now : Number(age) <= 0 };
}

function readAttribute(part: string): readonly [name: string, value: string] {
  const [name = "", ...value] = part.split("=");
  return [name.trim().toLowerCase(), value.join("=").trim()];
}

/** The hosts that get a cookie; null where a site may not set it. */
function placeOf(attribute: string, url: URL): Pick<Cookie, "url" | "domain"> | null {
  const domain = attribute.replace(/^\./u, "").toLowerCase();
  if (domain === "" || domain === url.hostname) return { url: url.origin };
  // A domain without a dot is a public suffix: the cookie would reach the hosts of strangers.
  return domain.includes(".") && url.hostname.endsWith(`.${domain}`) ? { domain } : null;
}

function pathOf(attribute: string, url: URL): string {
  if (attribute.startsWith("/")) return attribute;
  return url.pathname.replace(/\/[^/]*$/u, "") || "/";
}
