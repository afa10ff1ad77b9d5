import { ApiError } from "../../http/api-error.ts";
import { readUpTo } from "../../http/stream.ts";
import type { InboundResponse, Platform } from "../../ports.ts";
import { noAnswerReason, TransportError } from "../../net/transport-error.ts";
import { withinMs } from "../../time/within-ms.ts";
import type { BucketCredentials } from "../directory/token-secrets.ts";
import type { BucketSource } from "../state/check-bucket.ts";

/** An answer of a bucket, whole. */
export interface BucketAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  /** Null when there are more than were asked for. */
  readonly bytes: Uint8Array<ArrayBuffer> | null;
}

/** How a bucket is asked. */
export interface BucketAccess {
  readonly source: BucketSource;
  readonly credentials: BucketCredentials;
  readonly platform: Platform;
}

/** Milliseconds of one request, and attempts where the store has no answer for now. */
const REQUEST_MS = 60_000;
const ATTEMPTS = 3;
const PAUSE_MS = 1000;

/**
 * Asks a bucket with a signed GET (AWS Signature Version 4) and reads at most `limit` bytes. A caller's endpoint is reached
 * through the egress guard, the operator's own by the transport; redirects are not followed. Throws the reason when the
 * bucket does not answer.
 */
export async function askBucket(
  access: BucketAccess,
  path: string,
  limit: number,
  signal: AbortSignal,
): Promise<BucketAnswer> {
  const { system } = access.platform;
  for (let attempt = 1; ; attempt++) {
    const answer = await sendSigned(access, path, limit, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      if (error instanceof ApiError) throw error;
      if (error instanceof TransportError && error.reason === "late")
        throw bucketFailure(`The bucket gave no answer within ${REQUEST_MS / 1000} s`);
      if (attempt === ATTEMPTS)
        throw bucketFailure(`The bucket gave no answer: ${noAnswerReason(error)}`);
      return null;
    });
    const isBusy = answer === null || answer.status === 429 || answer.status >= 500;
    if (!isBusy) return answer;
    if (attempt === ATTEMPTS) throw bucketFailure(`The bucket answered ${answer?.status}`);
    await system.sleep(PAUSE_MS * attempt, signal);
  }
}

async function sendSigned(
  { source, credentials, platform }: BucketAccess,
  path: string,
  limit: number,
  signal: AbortSignal,
): Promise<BucketAnswer> {
  const { endpoint, region, bucket, isConfigured } = source;
  const { AwsV4Signer } = await import("aws4fetch");
  const signer = new AwsV4Signer({
    ...credentials,
    url: `${new URL(endpoint).origin}/${bucket}${path}`,
    service: "s3",
    region,
    datetime: new Date(platform.system.now()).toISOString().replaceAll(/[:-]|\.\d{3}/gu, ""),
  });
  const { method, url, headers } = await signer.sign();
  const { transport, egress, system } = platform;
  const ask = async (within: AbortSignal): Promise<BucketAnswer> => {
    const answer = await (isConfigured ? transport : egress).send({
      method,
      url: url.href,
      headers: [...headers].filter(([name]) => name !== "host"),
      signal: within,
    });
    return {
      status: answer.status,
      headers: new Map(answer.headers.map(([name, value]) => [name.toLowerCase(), value])),
      bytes: await bodyOf(answer, limit),
    };
  };
  return withinMs({ ms: REQUEST_MS, signal, system }, ask);
}

async function bodyOf(
  { body }: InboundResponse,
  limit: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  if (body === null) return new Uint8Array();
  if (body instanceof Uint8Array) return body.length > limit ? null : new Uint8Array(body);
  return readUpTo(body, limit);
}

/** Makes the error for a bucket that cannot be read. */
export function bucketFailure(message: string): ApiError {
  return new ApiError("network_error", { message });
}
