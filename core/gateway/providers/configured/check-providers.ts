import { didYouMean } from "../../../text/nearest.ts";
import { cloudProblem } from "../clouds/cloud-settings.ts";
import { ECHO, isLocal, providerRow, providers } from "../known/table.ts";
import type { ProviderOptions } from "../../account/settings/provider-options.ts";
import { isCustomSegment } from "../target.ts";

/** Says why no request could ever reach a configured provider; null when one can. */
export function providerProblem(slug: string, options: ProviderOptions): string | null {
  const { baseUrl } = options;
  const name = slug.slice(0, 80);
  if (slug.startsWith("custom-")) {
    if (!isCustomSegment(slug))
      return `"${name}" is not a provider's name: expected "custom-" and 1 to 64 letters, digits, "-", "_" or "."`;
    return baseUrl === undefined
      ? `"${name}" needs a baseUrl: it has no address of its own`
      : cloudProblem(slug, options);
  }
  if (slug === ECHO) return null;
  const known = providerRow(slug);
  const problem = known === undefined ? null : cloudProblem(slug, options);
  if (problem !== null) return problem;
  if (known === undefined) {
    const guess = didYouMean(slug, Object.keys(providers));
    return `There is no provider "${name}"${guess === "" ? "." : guess} Any other server that speaks OpenAI's format is "custom-${name}" with a baseUrl`;
  }
  if (known.baseUrl === null && baseUrl === undefined)
    return `"${name}" needs a baseUrl: it has no public address`;
  return isLocal(slug) ? null : foreignOption(name, options);
}

/** Says which option a provider with a public API does not have; null for none. */
function foreignOption(name: string, { speaks, free }: ProviderOptions): string | null {
  const whose = `is for "custom-…" providers and servers of your own`;
  if (speaks !== undefined) return `"${name}" is built in: "speaks" ${whose}`;
  return free === undefined ? null : `"${name}" has prices: "free" ${whose}`;
}
