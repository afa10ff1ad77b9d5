import { didYouMean } from "../../../text/nearest.ts";
import { segmentOf } from "../../providers/author-segment.ts";
import { providers } from "../../providers/known/table.ts";
import type { SpendLimits } from "../../account/settings/spend-settings.ts";

export interface SpendProvider {
  /** Path of the field. */
  readonly field: string;
  readonly segment: string;
}

export function spendProviders(limits: SpendLimits | null | undefined): SpendProvider[] {
  return (limits?.rules ?? []).flatMap(({ provider }, rule) =>
    (provider?.values ?? []).map((value, at) => ({
      field: `spend_limits.rules.${rule}.provider.values.${at}`,
      segment: segmentOf(value.toLowerCase()),
    })),
  );
}

/** Says that no provider has this name, and which one may be meant, of the built-in and the `configured` ones. */
export function noSuchProvider(
  { field, segment }: SpendProvider,
  configured: readonly string[] = [],
): string {
  const guess = didYouMean(segment, [...Object.keys(providers), ...configured]);
  return `${field}: there is no provider "${segment.slice(0, 64)}"${guess}`;
}
