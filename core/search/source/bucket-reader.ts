import { runInSteps } from "../../work/background.ts";
import { ApiError } from "../../http/api-error.ts";
import type { LongTask } from "../../ports.ts";
import { FILE_LIMIT } from "../ingest/extract-text.ts";
import {
  askBucket,
  type BucketAccess,
  type BucketAnswer,
  bucketFailure,
} from "./bucket-request.ts";
import type { ListedObject, ObjectPage, PageInput } from "./parse-object-page.ts";
import type { SourceContent, SourceEntry, SourceReader } from "../rows/source-reader.ts";

/** Objects of one part, and bytes of its list: a key has 1024, each three when it is encoded. */
const PART = 200;
const LIST_BYTES = 2 * 1024 * 1024;

const readObjectPage: LongTask<PageInput, ObjectPage> = {
  name: "search/object-page",
  async load() {
    const { parseObjectPage } = await import("./parse-object-page.ts");
    return parseObjectPage;
  },
};

/** Reads a bucket that speaks S3, in the order of its keys: a cursor is the key before. */
export function bucketReader(access: BucketAccess): SourceReader {
  return {
    id: access.source.id,
    async part(cursor, signal) {
      const { objects, last, isTruncated } = await listObjects(access, cursor, signal);
      // With a store that ignores start-after, every part would be the first one.
      if (isTruncated && last === cursor)
        throw bucketFailure("The bucket's list does not go on after a key (start-after)");
      return {
        entries: objects.map((object) => entryOf(access, object)),
        next: isTruncated ? last : null,
      };
    },
    incomplete: () => Promise.resolve(null),
    cancel: () => Promise.resolve(),
  };
}

async function listObjects(
  access: BucketAccess,
  after: string,
  signal: AbortSignal,
): Promise<ObjectPage> {
  const { source } = access;
  const query = [
    ["encoding-type", "url"],
    ["list-type", "2"],
    ["max-keys", String(PART)],
    ...(source.prefix === "" ? [] : [["prefix", source.prefix]]),
    ...(after === "" ? [] : [["start-after", after]]),
  ].map(([name = "", value = ""]) => `${name}=${encoded(value)}`);
  const answer = await askBucket(access, `/?${query.join("&")}`, LIST_BYTES, signal);
  if (answer.bytes === null) throw bucketFailure("The bucket's list is too long");
  const text = new TextDecoder().decode(answer.bytes);
  const page = await runInSteps(
    readObjectPage,
    { text, include: source.include, exclude: source.exclude },
    signal,
    access.platform.system,
  );
  if (answer.status !== 200 || page.error !== null) throw refusal(answer, page.error);
  return page;
}

function refusal({ status }: BucketAnswer, code: string | null): ApiError {
  const what = code === null ? "" : ` (${code.slice(0, 64)})`;
  if (status === 401 || status === 403) {
    return new ApiError("instance_invalid_token", {
      message: `instance_invalid_token: The bucket refuses the token${what}`,
    });
  }
  const why = status === 404 ? "The bucket does not exist" : `The bucket answered ${status}`;
  return bucketFailure(`${why}${what}`);
}

function entryOf(access: BucketAccess, object: ListedObject): SourceEntry {
  const { key, etag, bytes, modified } = object;
  return {
    key,
    version: etag === "" ? null : etag,
    cursor: key,
    async load(signal): Promise<SourceContent> {
      if (bytes > FILE_LIMIT) throw tooLarge();
      // Such a segment would lead to another object, or out of the bucket.
      if (key.split("/").some((segment) => segment === "." || segment === ".."))
        throw bucketFailure("A key with a segment . or .. cannot be asked for");
      const path = key.split("/").map(encoded).join("/");
      const answer = await askBucket(access, `/${path}`, FILE_LIMIT, signal);
      if (answer.status === 404) throw bucketFailure("The object is gone");
      if (answer.status !== 200) throw refusal(answer, null);
      if (answer.bytes === null) throw tooLarge();
      return {
        bytes: answer.bytes,
        contentType: answer.headers.get("content-type") ?? "",
        metadata: {},
        modified: modified ?? undefined,
      };
    },
  };
}

function tooLarge(): ApiError {
  return new ApiError("file_too_large", {
    message: `file_exceeds_maximum_size: ${FILE_LIMIT} bytes`,
  });
}

/** RFC 3986: what signatures are made of. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/gu,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
