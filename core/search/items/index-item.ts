import { sha256Hex } from "../../crypto/digest.ts";
import { ApiError } from "../../http/api-error.ts";
import type { NewVectors } from "./commit-item.ts";
import { describeFailure, embedChunks } from "./embed-chunks.ts";
import { extractText, type ExtractedText, FILE_LIMIT } from "./extract-text.ts";
import type { Instance } from "../instance/instance-client.ts";
import type { InstanceSettings } from "../instance/instance-settings.ts";
import type { Item } from "./item-record.ts";
import type { Attempt } from "./item-store.ts";
import { LEXICAL_MODEL } from "../lexical/lexical-model.ts";
import { type Metadata, type MetadataWarning, parseMetadata } from "./metadata.ts";
import type { SearchOptions } from "../search-deps.ts";
import { splitText } from "../text/split.ts";

/** A file on its way into an instance. */
export interface FileUpload {
  readonly key: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
  /** A JSON object of scalars, as text. */
  readonly metadata?: string | undefined;
}

/** An uploaded item, with what the uploader is told about its metadata. */
export type UploadedItem = Item & { readonly warnings?: readonly MetadataWarning[] };

/** Characters of an item's key. */
const MAX_KEY = 128;
/** Chunks of one item. */
const MAX_CHUNKS = 20_000;
/** How long a caller waits for completion at most, in ms (docs/compatibility.md). */
const WAIT_MS = 40_000;

/**
 * Stores and indexes a file under its key, in place of what was there. With a configured embedder and
 * without `wait` the answer comes before the vectors do (status `running`).
 */
export async function uploadItem(
  instance: Instance,
  file: FileUpload,
  wait: boolean,
  deps: SearchOptions,
): Promise<UploadedItem> {
  checkFile(file);
  const metadata: Metadata = parseMetadata(file.metadata);
  const text = extractText(file, deps.htmlToMarkdown);
  const checksum = await sha256Hex(file.bytes);
  const attempt = await instance.begin({
    key: file.key,
    metadata,
    checksum,
    contentType: file.contentType,
    bytes: file.bytes,
  });
  const item = await indexNow(instance, attempt, text, wait, deps);
  return attempt.warnings.length === 0 ? item : { ...item, warnings: attempt.warnings };
}

function checkFile({ key, bytes }: FileUpload): void {
  if (key === "")
    throw new ApiError("file_required", {
      message: "file_field_is_required: the file needs a name",
    });
  if (key.length > MAX_KEY)
    throw new ApiError("file_name_too_long", {
      message: `file_name_too_long: a key has at most ${MAX_KEY} characters`,
    });
  if (bytes.length > FILE_LIMIT)
    throw new ApiError("file_too_large", {
      message: `file_exceeds_maximum_size: ${FILE_LIMIT} bytes`,
    });
}

/** Indexes an item again from its stored content. */
export async function syncItem(
  instance: Instance,
  itemId: string,
  wait: boolean,
  deps: SearchOptions,
): Promise<Item> {
  const attempt = await instance.beginSync(itemId);
  return indexNow(instance, attempt, extractText(attempt.content, deps.htmlToMarkdown), wait, deps);
}

async function indexNow(
  instance: Instance,
  attempt: Attempt,
  text: ExtractedText,
  wait: boolean,
  deps: SearchOptions,
): Promise<Item> {
  const { system } = deps.platform;
  const settings = await instance.read();
  const work = runAttempt(instance, attempt, text, settings, deps);
  const remote = settings.index_method.vector && settings.embedding_model !== LEXICAL_MODEL;
  if (!remote) return work;
  // Its failure is noted on the item, or the item is gone.
  system.waitUntil(work.catch(() => undefined));
  if (!wait) return instance.item(attempt.itemId);
  const patience = new AbortController();
  const late = system.sleep(WAIT_MS, patience.signal).then(
    () => instance.item(attempt.itemId),
    () => work,
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    patience.abort();
  }
}

/** Splits, embeds and commits; whatever goes wrong on the way is noted on the item. */
async function runAttempt(
  instance: Instance,
  { itemId, revision }: Attempt,
  { text, format }: ExtractedText,
  settings: InstanceSettings,
  deps: SearchOptions,
): Promise<Item> {
  const { system, log } = deps.platform;
  const started = system.now();
  try {
    const chunks = chunksOf(text, format, settings, deps);
    const vectors = await vectorsFor(chunks, settings, deps);
    return await instance.commit(itemId, revision, chunks, vectors, system.now() - started);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) throw error;
    log("warn", "An item could not be indexed", { item_id: itemId, error: String(error) });
    const reason = describeFailure(deps.embedder, error);
    return instance.fail(itemId, revision, reason, system.now() - started);
  }
}

function chunksOf(
  text: string,
  format: "markdown" | "text",
  settings: InstanceSettings,
  deps: SearchOptions,
): ReturnType<typeof splitText> {
  const chunks = splitText(text, {
    size: settings.chunk_size,
    overlapPercent: settings.chunk_overlap,
    format,
    ...(deps.countTokens === undefined ? {} : { countTokens: deps.countTokens }),
  });
  if (chunks.length > MAX_CHUNKS) {
    throw new ApiError("file_too_large", {
      message: `The file makes ${chunks.length} chunks, at most ${MAX_CHUNKS} are indexed: raise chunk_size`,
    });
  }
  return chunks;
}

async function vectorsFor(
  chunks: ReturnType<typeof splitText>,
  settings: InstanceSettings,
  { embedder }: SearchOptions,
): Promise<NewVectors | null> {
  if (!settings.index_method.vector || settings.embedding_model === LEXICAL_MODEL) return null;
  if (embedder?.model !== settings.embedding_model) {
    throw new ApiError("invalid_model", {
      message: `The embedding model "${settings.embedding_model}" is not configured`,
    });
  }
  return embedChunks(embedder, chunks);
}
