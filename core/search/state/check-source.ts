import type { SearchOptions } from "../models/search-deps.ts";
import { type BucketSource, bucketSource } from "./check-bucket.ts";
import { type SiteSource, siteSource } from "./check-site.ts";
import { invalid, withoutEffect } from "./source-errors.ts";
import type { SourceFields } from "./source-schema.ts";

/** The source that an instance follows. `id` is the `source_id` of its items. */
export type InstanceSource = BucketSource | SiteSource;

/** Seconds between two jobs where a source is given without `sync_interval`; what the hosted API does. */
export const SYNC_INTERVAL = 21_600;

/** Returns the type that a source has: the given one, else by its form. */
export function sourceType({ type, source }: SourceFields): "r2" | "web-crawler" | null {
  if (type != null) return type;
  if (source == null || source.trim() === "") return null;
  return /^https?:\/\//iu.test(source) ? "web-crawler" : "r2";
}

/**
 * Returns the source that settings stand for; null for an instance of uploads. Throws what is wrong with them, by the name
 * of the field, and for what would have no effect.
 */
export function sourceOf(
  settings: SourceFields,
  options: Pick<SearchOptions, "bucket" | "crawler" | "platform">,
): InstanceSource | null {
  const type = sourceType(settings);
  if (type === null) {
    if (settings.sync_interval != null)
      throw withoutEffect("sync_interval", "the instance has no source, its items come by upload");
    if (Object.values(settings.source_params ?? {}).some((value) => value != null))
      throw withoutEffect("source_params", "the instance has no source");
    if (settings.token_id != null)
      throw withoutEffect("token_id", "only a bucket is asked with a token");
    return null;
  }
  const source = settings.source?.trim() ?? "";
  if (source === "") throw invalid("source", `Needed with the type "${type}"`);
  return type === "r2"
    ? bucketSource(source, settings, options)
    : siteSource(source, settings, options);
}
