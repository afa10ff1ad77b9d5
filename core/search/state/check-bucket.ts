import { ApiError } from "../../http/api-error.ts";
import { checkUrl, invalidUrl, reasonOf } from "../../net/check-url.ts";
import type { Transport } from "../../ports.ts";
import type { BucketEndpoint, SearchOptions } from "../models/search-deps.ts";
import { invalid, withoutEffect } from "./source-errors.ts";
import type { SourceFields, SourceParams } from "./source-schema.ts";

/** A bucket that an instance follows. */
export interface BucketSource extends Required<BucketEndpoint> {
  readonly kind: "bucket";
  readonly id: string;
  readonly bucket: string;
  readonly prefix: string;
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  readonly tokenId: string;
  /** Whether its endpoint is the operator's, and not a caller's. */
  readonly isConfigured: boolean;
}

/** Returns the bucket that settings stand for. Throws by the name of the field. */
export function bucketSource(
  bucket: string,
  { source_params: given, token_id: tokenId }: SourceFields,
  { bucket: configured, platform }: Pick<SearchOptions, "bucket" | "platform">,
): BucketSource {
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/u.test(bucket) || bucket.includes(".."))
    throw invalid("source", "expected the name of a bucket: 3 to 63 of a-z, 0-9, . and -");
  const params = given ?? {};
  refuseOthers(params);
  const place = placeOf(params, configured, platform.egress);
  if (tokenId == null) {
    throw new ApiError("instance_invalid_token", {
      message: "instance_invalid_token: token_id: A bucket needs a token, see /tokens",
    });
  }
  return {
    kind: "bucket",
    id: `r2:${bucket}`,
    bucket,
    ...place,
    prefix: params.prefix ?? "",
    include: params.include_items ?? [],
    exclude: params.exclude_items ?? [],
    tokenId,
  };
}

function refuseOthers({ web_crawler: web, r2_jurisdiction: jurisdiction }: SourceParams): void {
  if (web != null) throw withoutEffect("source_params.web_crawler", "the source is a bucket");
  if (jurisdiction != null) {
    const why = "name the address of the bucket's store in source_params.endpoint";
    throw withoutEffect("source_params.r2_jurisdiction", why);
  }
}

function placeOf(
  { endpoint, region: given }: SourceParams,
  configured: BucketEndpoint | undefined,
  egress: Transport,
): Pick<BucketSource, "endpoint" | "region" | "isConfigured"> {
  const region = given ?? (endpoint == null ? configured?.region : undefined) ?? "auto";
  if (!/^[a-z0-9-]{1,64}$/u.test(region))
    throw invalid("source_params.region", "expected the name of a region, e.g. eu-central-1");
  if (endpoint != null) {
    checkEndpoint(endpoint, egress);
    return { endpoint, region, isConfigured: false };
  }
  if (configured !== undefined)
    return { endpoint: configured.endpoint, region, isConfigured: true };
  const why = "Needed, because no store of buckets is configured (search.bucket)";
  throw invalid("source_params.endpoint", why);
}

function checkEndpoint(endpoint: string, egress: Transport): void {
  const url = URL.parse(endpoint);
  // The egress guard has the last word when it knows the address.
  const reason =
    url === null
      ? invalidUrl(endpoint)
      : (reasonOf(checkUrl(url, anyHost)) ?? egress.refusal?.(endpoint) ?? null);
  if (url === null || reason !== null) throw invalid("source_params.endpoint", reason ?? "");
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "")
    throw invalid("source_params.endpoint", "expected an address without a path");
}

const anyHost = { host: () => true, address: () => true };
