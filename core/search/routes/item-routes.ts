import { parsedJson } from "../../http/json.ts";
import type { Context, Hono } from "hono";
import * as v from "valibot";
import { workOwner } from "../../auth/authorize.ts";
import { ApiError } from "../../http/api-error.ts";
import type { BodyPlatform } from "../../http/arriving-body.ts";
import { parse, readJson, withBytes } from "../../http/fields/body.ts";
import { envelope } from "../../http/envelope.ts";
import { isMultipart, readForm } from "../../http/fields/read-form.ts";
import { checkQuery } from "../../http/fields/query.ts";
import { traceparentOf } from "../../trace/trace-context.ts";
import type { SearchOptions, WorkOptions } from "../models/search-deps.ts";
import { wholeRequest } from "../../http/whole-request.ts";
import { MAX_SOURCE_KEY } from "../rows/source-reader.ts";
import { FILE_LIMIT } from "../ingest/extract-text.ts";
import { type FileUpload, syncItem, uploadItem } from "./index-item.ts";
import type { Instance } from "../actor/instance-client.ts";
import { instanceRoots, numberOf, pageInfo, pageOf, type RouteContext } from "./route-context.ts";

/** Bytes of a form around its file. */
const FORM_OVERHEAD = 128 * 1024;
/** A form has three fields. */
const FORM_BOUNDS = { parts: 20, headers: 16 * 1024 };

const text = v.optional(v.pipe(v.string(), v.maxLength(256)));

const listSchema = v.object({
  item_id: text,
  key: text,
  search: text,
  source: text,
  status: v.optional(
    v.picklist(["queued", "running", "completed", "error", "skipped", "outdated"]),
  ),
  sort_by: v.optional(v.picklist(["status", "modified_at"]), "status"),
  metadata_filter: v.optional(v.pipe(v.string(), v.maxLength(16_384))),
});

/** A checked body that has an item indexed again. */
export interface SyncInput {
  readonly next_action: "INDEX";
  readonly wait_for_completion: boolean;
}

const syncEntries = {
  next_action: v.literal("INDEX"),
  wait_for_completion: v.optional(v.boolean(), false),
};
/** Body of `PATCH …/items/:item_id`. */
export const syncSchema: v.GenericSchema<unknown, SyncInput> = v.object(syncEntries);
/** Body of `PUT …/items`. */
export const putSchema: v.GenericSchema<unknown, SyncInput & { readonly key: string }> = v.object({
  ...syncEntries,
  key: v.string(),
});

/** Registers the items of an instance: upload, list, read, delete, index again, chunks, log, download. */
export function itemRoutes(app: Hono, { options, may, instance }: RouteContext): void {
  for (const root of instanceRoots.map((one) => `${one}/:id/items`)) {
    app.get(root, may("AI Search Read"), (c) => listItems(c, instance(c)));
    app.post(root, may("AI Search Edit"), async (c) => {
      const upload = async ({ file, wait }: Upload): Promise<Response> =>
        envelope(await uploadItem(instance(c), file, wait, worked(c, options)));
      return withForm(await wholeRequest(c.req), options.platform, upload);
    });
    app.put(root, may("AI Search Edit"), async (c) => {
      const { key, wait_for_completion: wait } = await readJson(c, putSchema, {
        platform: options.platform,
      });
      if (key.length > MAX_SOURCE_KEY) throw new ApiError("file_name_too_long");
      const { items } = await instance(c).items(
        { page: 1, perPage: 1, key, sortBy: "status" },
        null,
      );
      const [item] = items;
      if (item === undefined) {
        throw new ApiError("item_not_found", {
          message: `item_not_found: upload "${key}" first, it has no content yet`,
        });
      }
      return envelope(await syncItem(instance(c), item.id, wait, worked(c, options)));
    });
    app.get(`${root}/:item_id`, may("AI Search Read"), async (c) =>
      envelope(await instance(c).item(itemId(c))),
    );
    app.patch(`${root}/:item_id`, may("AI Search Edit"), async (c) => {
      const { wait_for_completion: wait } = await readJson(c, syncSchema, {
        platform: options.platform,
      });
      return envelope(await syncItem(instance(c), itemId(c), wait, worked(c, options)));
    });
    app.delete(`${root}/:item_id`, may("AI Search Edit"), async (c) =>
      envelope(await instance(c).remove(itemId(c))),
    );
    app.get(`${root}/:item_id/chunks`, may("AI Search Read"), (c) => listChunks(c, instance(c)));
    app.get(`${root}/:item_id/logs`, may("AI Search Read"), (c) => listLogs(c, instance(c)));
    app.get(`${root}/:item_id/download`, may("AI Search Read"), (c) => download(c, instance(c)));
  }
}

function itemId(c: Context): string {
  return c.req.param("item_id") ?? "";
}

async function listChunks(c: Context, instance: Instance): Promise<Response> {
  checkQuery(c, ["limit", "offset"]);
  const limit = numberOf(c, "limit", { fallback: 20, min: 1, max: 100 });
  const offset = numberOf(c, "offset", { fallback: 0, min: 0, max: 1_000_000 });
  const { chunks, total } = await instance.chunks(itemId(c), limit, offset);
  return envelope(chunks, {
    resultInfo: { count: chunks.length, total_count: total, limit, offset },
  });
}

async function listLogs(c: Context, instance: Instance): Promise<Response> {
  checkQuery(c, ["limit", "cursor"]);
  const limit = numberOf(c, "limit", { fallback: 20, min: 1, max: 100 });
  const first = c.req.query("cursor") === undefined;
  const cursor = first
    ? null
    : numberOf(c, "cursor", { fallback: 1, min: 0, max: Number.MAX_SAFE_INTEGER });
  const { logs, next } = await instance.logs(itemId(c), limit, cursor);
  return envelope(logs, {
    resultInfo: { count: logs.length, cursor: next === null ? null : String(next) },
  });
}

async function download(c: Context, instance: Instance): Promise<Response> {
  const { key, bytes } = await instance.content(itemId(c));
  const name = encodeURIComponent(key.slice(key.lastIndexOf("/") + 1).toWellFormed());
  // Never as its own media type: an uploaded page must not run in this origin.
  return new Response(new Uint8Array(bytes), {
    headers: {
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename*=UTF-8''${name}`,
      "x-content-type-options": "nosniff",
    },
  });
}

async function listItems(c: Context, instance: Instance): Promise<Response> {
  const page = pageOf(c, Object.keys(listSchema.entries));
  const query = parse(listSchema, c.req.query());
  const { items, total } = await instance.items(
    {
      ...page,
      sortBy: query.sort_by,
      ...(query.item_id === undefined ? {} : { itemId: query.item_id }),
      ...(query.key === undefined ? {} : { key: query.key }),
      ...(query.search === undefined ? {} : { search: query.search }),
      ...(query.source === undefined ? {} : { source: query.source }),
      ...(query.status === undefined ? {} : { status: query.status }),
    },
    query.metadata_filter === undefined ? null : jsonText(query.metadata_filter),
  );
  return envelope(items, { resultInfo: pageInfo(page, items.length, total) });
}

function jsonText(source: string): string {
  if (parsedJson(source) !== undefined) return source;
  throw new ApiError("invalid_filter", {
    message: "invalid_metadata_filter: metadata_filter is not valid JSON",
  });
}

/** The fields of an upload form. */
interface Upload {
  readonly file: FileUpload;
  readonly wait: boolean;
}

/** Reads an upload form for `use`: `file`, `metadata`, `wait_for_completion`. Throws 7054 and 7055. */
async function withForm(
  request: Request,
  platform: BodyPlatform,
  use: (upload: Upload) => Promise<Response>,
): Promise<Response> {
  const type = request.headers.get("content-type") ?? "";
  if (!isMultipart(type)) throw fileRequired();
  try {
    return await withBytes(request, FILE_LIMIT + FORM_OVERHEAD, platform, async (bytes) =>
      use(await uploadIn(await readForm(bytes, type, FORM_BOUNDS), bytes)),
    );
  } catch (error) {
    if (!(error instanceof ApiError) || error.kind !== "too_large") throw error;
    throw new ApiError("file_too_large", {
      message: `file_exceeds_maximum_size: ${FILE_LIMIT} bytes`,
    });
  }
}

function fileRequired(): ApiError {
  const message =
    'file_field_is_required: send multipart/form-data with a file in the field "file" (curl: -F file=@NAME)';
  return new ApiError("file_required", { message });
}

async function uploadIn(form: FormData, body: Uint8Array): Promise<Upload> {
  const file = form.get("file");
  if (file === null || typeof file === "string") throw fileRequired();
  const metadata = form.get("metadata");
  const bytes = new Uint8Array(await file.arrayBuffer());
  return {
    file: {
      key: file.name,
      contentType: partType(body) ?? file.type,
      bytes,
      metadata: typeof metadata === "string" ? metadata : undefined,
    },
    wait: form.get("wait_for_completion") === "true",
  };
}

/** Returns the media type that a form says of its file. Bun goes by the name instead, and says that all text is UTF-8. */
function partType(body: Uint8Array): string | null {
  const form = new TextDecoder("latin1").decode(body);
  const [part] = /^content-disposition:[^\r\n]*;\s*name="?file"?(?=[;\r])/im.exec(form) ?? [];
  const at = part === undefined ? -1 : form.indexOf(part);
  const headers = form.slice(form.lastIndexOf("\r\n--", at) + 2, form.indexOf("\r\n\r\n", at));
  return at < 0 ? null : (/^content-type:[^\S\r\n]*([^\r\n]*)/im.exec(headers)?.[1] ?? null);
}

/** Returns the options for work that a request asks for. */
function worked(c: Context, options: SearchOptions): WorkOptions {
  return { ...options, trace: traceparentOf(c.req.raw), owner: workOwner(c) };
}
