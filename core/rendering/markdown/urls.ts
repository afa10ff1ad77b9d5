import type { Attributes } from "./html-events.ts";

/** Makes an address absolute and safe inside `(…)`; null for one that is useless in text, such as inline data. */
export function linkAddress(href: string, base: string | null): string | null {
  const trimmed = href.trim();
  if (/^(?:javascript|vbscript|data|blob|about):/iu.test(trimmed.replaceAll(/[\t\n\r]/gu, "")))
    return null;
  return bracketSafe(absolute(trimmed, base));
}

/** Attributes that scripts for lazy pictures keep the address in: lazysizes, jQuery Lazy Load, WordPress, Echo. */
const LAZY = [
  "data-src",
  "data-original",
  "data-lazy-src",
  "data-lazy",
  "data-echo",
  "data-original-src",
  "data-hi-res-src",
];
const LAZY_SETS = ["data-srcset", "data-lazy-srcset"];

/**
 * Returns the best address of a picture: the lazy one that scripts put in the place of `src`, else `src`, else the largest
 * of the responsive ones.
 */
export function imageAddress(attributes: Attributes, base: string | null): string | null {
  for (const name of LAZY) {
    const found = usable(lazy(attributes[name]), base);
    if (found !== null) return found;
  }
  for (const name of LAZY_SETS) {
    const found = usable(largest(attributes[name]), base);
    if (found !== null) return found;
  }
  return usable(attributes["src"], base) ?? usable(largest(attributes["srcset"]), base);
}

function usable(candidate: string | undefined, base: string | null): string | null {
  const address = candidate?.trim() ?? "";
  return address === "" ? null : linkAddress(address, base);
}

/** Returns an attribute's value if it looks like an address; scripts keep other things in such attributes too. */
function lazy(address: string | undefined): string | undefined {
  const text = address?.trim() ?? "";
  return text.length <= 8192 && /^[^\s{}<>"]*[./][^\s{}<>"]*$/u.test(text) ? text : undefined;
}

/** Resolves an address against a base; returns it as written when it cannot be resolved. */
export function absolute(address: string, base: string | null): string {
  const url = base === null ? URL.parse(address) : URL.parse(address, base);
  return url === null ? address : url.href;
}

/** Returns the last candidate of a `srcset` with the largest width or density. */
function largest(srcset: string | undefined): string {
  if (srcset === undefined) return "";
  let best = "";
  let size = -1;
  for (const candidate of srcset.slice(0, 8192).split(/,\s+/u)) {
    const [address = "", descriptor = "1x"] = candidate.trim().split(/\s+/u);
    const value = Number.parseFloat(descriptor);
    if (address !== "" && value > size) [best, size] = [address, value];
  }
  return best;
}

/** Encodes what would end a link's destination early. */
function bracketSafe(address: string): string {
  return address.replaceAll(/[\s()<>\\]/gu, (char) => {
    const code = char.charCodeAt(0);
    return code < 0x80
      ? `%${code.toString(16).toUpperCase().padStart(2, "0")}`
      : encodeURIComponent(char);
  });
}
