import { globParts, matchGlob } from "../../../net/glob.ts";
import { normalEscapes } from "./robots.ts";
import { type IdentityOptions, pageAddress } from "./scope.ts";

/** Recognises pages by their addresses. */
export interface PageIdentity {
  /** Returns the address to which a crawl goes for a link; null for a link to anything but a page. */
  readonly addressOf: (link: string) => URL | null;
  /** Returns a text that all addresses of one page have in common. */
  readonly keyOf: (url: URL) => string;
}

/** Parameters that say where a visitor comes from, or who it is, and choose no page. */
const VISITOR =
  /^(?:utm_\w+|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|yclid|twclid|ttclid|igshid|mc_[ce]id|_ga|_gl|_hsenc|_hsmi|mkt_tok|phpsessid|jsessionid|aspsessionid\w*|cfid|cftoken|oscsid|zenid)$/iu;
/** The same by names that mean other things as well, where the value is a long random number: longer than the 24 digits of an ObjectId. */
const SESSION = /^(?:sid|s|session(?:_?id)?)=[\da-f]{26,}$/iu;
const SESSION_IN_PATH = /;(?:jsessionid|phpsessid)=[^/;]*/giu;
const INDEX = /\/(?:index\.(?:html?|php|aspx?|jsp)|default\.aspx?)$/iu;

/** Makes the one place that knows which parts of an address choose its page. */
export function pageIdentity(options: IdentityOptions): PageIdentity {
  const { ignoreQueryParameters: ignored, deduplicateSimilarURLs: isWide = false } = options;
  const names = (Array.isArray(ignored) ? ignored : []).map((name: string) =>
    globParts(name.toLowerCase()),
  );
  const isLeftOut = (parameter: string): boolean => {
    const name = parameterName(parameter);
    if (VISITOR.test(name) || SESSION.test(parameter)) return true;
    return names.some((parts) => matchGlob(parts, name.toLowerCase()));
  };
  const addressOf = (link: string): URL | null => {
    const url = pageAddress(link);
    if (url === null) return null;
    if (url.pathname.includes(";")) url.pathname = url.pathname.replaceAll(SESSION_IN_PATH, "");
    if (ignored === true) url.search = "";
    const parameters = parametersOf(url);
    const kept = parameters.filter((parameter) => !isLeftOut(parameter));
    // The remaining parameters keep their spelling: a site may look at more than names and values.
    if (kept.length < parameters.length) url.search = kept.join("&");
    return url;
  };
  return {
    addressOf,
    keyOf: (url) => {
      const { protocol, host, pathname, search } = addressOf(url.href) ?? url;
      const parameters = parametersOf({ search }).map(normalEscapes);
      parameters.sort((one, other) => compare(parameterName(one), parameterName(other)));
      const site = isWide ? host.replace(/^www\./u, "") : `${protocol}//${host}`;
      const path = normalEscapes(isWide ? pathname.replace(INDEX, "/") : pathname);
      return `${site}${withoutSlash(path)}${parameters.length > 0 ? "?" : ""}${parameters.join("&")}`;
    },
  };
}

/** Tells whether an address is that of a site's home page, by whatever name. */
export function isHome({ pathname }: Pick<URL, "pathname">): boolean {
  return pathname.replace(INDEX, "/") === "/";
}

/** Returns the parameters of an address, as they stand there. */
export function parametersOf({ search }: Pick<URL, "search">): string[] {
  return search
    .slice(1)
    .split("&")
    .filter((parameter) => parameter !== "");
}

/** Returns the name of a parameter, as it stands there. */
export function parameterName(parameter: string): string {
  return parameter.split("=", 1)[0] ?? "";
}

/** Parameters of one name keep their order, because sorting is stable. */
function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function withoutSlash(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === "/") end--;
  return path.slice(0, end);
}
