import { didYouMean } from "../../http/fields/nearest.ts";
import { ECHO, providers } from "./known/table.ts";
import { isCustomSegment, type ProviderOptions } from "./target.ts";

/** Says why no request could ever reach a configured provider; null when one can. */
export function providerProblem(slug: string, { baseUrl, speaks }: ProviderOptions): string | null {
  const name = slug.slice(0, 80);
  if (speaks !== undefined && !slug.startsWith("custom-"))
    return `"${name}" is built in: "speaks" is for "custom-…" providers`;
  if (slug.startsWith("custom-")) {
    if (!isCustomSegment(slug))
      return `"${name}" is not a provider's name: expected "custom-" and 1 to 64 letters, digits, "-", "_" or "."`;
    return baseUrl === undefined ? `"${name}" needs a baseUrl: it has no address of its own` : null;
  }
  if (slug === ECHO) return null;
  const known = Object.hasOwn(providers, slug) ? providers[slug] : undefined;
  if (known === undefined) {
    const guess = didYouMean(slug, Object.keys(providers));
    return `There is no provider "${name}"${guess === "" ? "." : guess} Any other server that speaks OpenAI's format is "custom-${name}" with a baseUrl`;
  }
  return known.baseUrl === null && baseUrl === undefined
    ? `"${name}" needs a baseUrl: it has no public address`
    : null;
}
