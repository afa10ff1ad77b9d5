import { toHex, utf8 } from "../../core/crypto/encoding.ts";
import { sha256Hex } from "../../core/crypto/digest.ts";
import { hmacKey, hmacSign } from "../../core/crypto/hmac.ts";
import type { InboundResponse, OutboundRequest, Transport } from "../../core/ports.ts";

/** The credentials that the bucket takes. */
export const bucketKey = { id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };

/** An object. */
export interface PlayedObject {
  readonly text: string | Uint8Array;
  readonly type?: string;
  readonly modified?: string;
}

/** A store with one bucket, `docs`, that speaks S3 and verifies signatures. */
export interface PlayedBucket extends Transport {
  readonly objects: Map<string, PlayedObject>;
  /** Paths and queries that were asked for. */
  readonly asked: string[];
  /** What is done before an object is given. */
  before: (key: string) => Promise<void>;
  /** The answer to a signed GET. */
  answer(url: URL, headers: ReadonlyMap<string, string>): Promise<InboundResponse>;
}

export function playedBucket(
  objects: Readonly<Record<string, PlayedObject | string>>,
): PlayedBucket {
  const bucket: PlayedBucket = {
    objects: new Map(
      Object.entries(objects).map(([key, one]) => [
        key,
        typeof one === "string" ? { text: one } : one,
      ]),
    ),
    asked: [],
    before: () => Promise.resolve(),
    async send(request: OutboundRequest) {
      const url = new URL(request.url);
      request.signal?.throwIfAborted();
      const headers = new Map(request.headers.map(([name, value]) => [name.toLowerCase(), value]));
      return bucket.answer(url, headers.set("host", url.host));
    },
    async answer(url, headers) {
      bucket.asked.push(url.pathname + url.search);
      const problem = await signatureProblem(url, headers);
      if (problem !== null) return xml(403, `<Error><Code>${problem}</Code></Error>`);
      const [, name = "", ...rest] = url.pathname.split("/");
      if (name !== "docs") return xml(404, "<Error><Code>NoSuchBucket</Code></Error>");
      const key = decodeURIComponent(rest.join("/"));
      if (key === "") return xml(200, await list(bucket, url.searchParams));
      await bucket.before(key);
      const found = bucket.objects.get(key);
      if (found === undefined) return xml(404, "<Error><Code>NoSuchKey</Code></Error>");
      const { text, type = "text/markdown" } = found;
      const body = typeof text === "string" ? utf8(text) : text;
      return { status: 200, headers: [["content-type", type]], body };
    },
  };
  return bucket;
}

function xml(status: number, text: string): InboundResponse {
  const body = utf8(`<?xml version="1.0" encoding="UTF-8"?>\n${text}`);
  return { status, headers: [["content-type", "application/xml"]], body };
}

/** `ListObjectsV2`: keys in the order of their bytes. */
async function list({ objects }: PlayedBucket, query: URLSearchParams): Promise<string> {
  const prefix = query.get("prefix") ?? "";
  const after = query.get("start-after") ?? "";
  const most = Math.min(Number(query.get("max-keys") ?? 1000), 3);
  const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after);
  const shown = keys.toSorted((a, b) => (a < b ? -1 : 1)).slice(0, most);
  const rows = await Promise.all(
    shown.map(async (key) => {
      const { text, modified = "2026-01-02T03:04:05.000Z" } = objects.get(key) ?? { text: "" };
      const bytes = typeof text === "string" ? utf8(text) : text;
      const name = encodeURIComponent(key).replaceAll("%2F", "/").replaceAll("%20", "+");
      const etag = (await sha256Hex(bytes)).slice(0, 32);
      return `<Contents><Key>${name}</Key><LastModified>${modified}</LastModified><ETag>&quot;${etag}&quot;</ETag><Size>${bytes.length}</Size></Contents>`;
    }),
  );
  return `<ListBucketResult><IsTruncated>${keys.length > most}</IsTruncated>${rows.join("")}</ListBucketResult>`;
}

/** Why a signature (AWS Signature Version 4) does not hold; null when it does. */
async function signatureProblem(
  url: URL,
  headers: ReadonlyMap<string, string>,
): Promise<string | null> {
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([\da-f]{64})$/u;
  const [, id, day = "", region = "", names = "", signature] =
    form.exec(headers.get("authorization") ?? "") ?? [];
  if (id === undefined) return "AccessDenied";
  if (id !== bucketKey.id) return "InvalidAccessKeyId";
  const at = headers.get("x-amz-date") ?? "";
  const signed = names.split(";");
  if (!at.startsWith(day) || !signed.includes("host")) return "AccessDenied";
  const query = [...url.searchParams]
    .map(([name, value]) => `${strict(name)}=${strict(value)}`)
    .toSorted()
    .join("&");
  const path = url.pathname
    .split("/")
    .map((segment) => strict(decodeURIComponent(segment)))
    .join("/");
  const canonical = [
    "GET",
    path,
    query,
    ...signed.map((name) => `${name}:${headers.get(name)?.trim()}`),
    "",
    names,
    headers.get("x-amz-content-sha256"),
  ].join("\n");
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = ["AWS4-HMAC-SHA256", at, scope, await sha256Hex(utf8(canonical))].join("\n");
  let key: Uint8Array = utf8(`AWS4${bucketKey.secret}`);
  for (const part of [day, region, "s3", "aws4_request"])
    key = await hmacSign(await hmacKey(key), part);
  const expected = toHex(await hmacSign(await hmacKey(key), text));
  return expected === signature ? null : "SignatureDoesNotMatch";
}

function strict(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/gu,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
