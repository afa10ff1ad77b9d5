import { chunksOf } from "../ingest/chunks-of.ts";
import { sha256Hex } from "../../crypto/digest.ts";
import { ApiError } from "../../http/api-error.ts";
import { usesOcr } from "../ingest/read-pictures.ts";
import { extractText, type ExtractedText, FILE_LIMIT } from "../ingest/extract-text.ts";
import type { Instance } from "../actor/instance-client.ts";
import type { Item } from "../rows/item-record.ts";
import type { Attempt } from "../rows/item-store.ts";
import { type Metadata, type MetadataWarning, parseMetadata } from "../filter/metadata.ts";
import type { SearchOptions, WorkOptions } from "../models/search-deps.ts";

/** A file on its way into an instance. */
export interface FileUpload {
  readonly key: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
  /** A JSON object of scalars, as text. */
  readonly metadata?: string | undefined;
}

/** Characters of an item's key. */
const MAX_KEY = 128;
/** How long a caller waits for completion at most, in ms (docs/compatibility.md). */
const WAIT_MS = 40_000;

/**
 * Stores and indexes a file under its key, in place of the earlier one: keywords find it at once. The vectors of a
 * configured embedder, and the text of pictures, come from the queue of the instance; `wait` waits for them (else the status
 * is `running` or `queued`). What the item under the key has already is not indexed again.
 */
export async function uploadItem(
  instance: Instance,
  file: FileUpload,
  wait: boolean,
  deps: WorkOptions,
): Promise<Item> {
  checkFile(file);
  const metadata: Metadata = parseMetadata(file.metadata);
  const { key, contentType, bytes } = file;
  const facts = { key, metadata, contentType, checksum: await sha256Hex(bytes) };
  const same = await instance.unchanged(facts);
  if (same !== null) {
    const { itemId } = same;
    const item = await (wait ? settledItem(instance, itemId, deps) : instance.item(itemId));
    return withWarnings(item, same.warnings);
  }
  const text = await extractText<"later">(file, deps, () => picturesLater(instance, deps));
  const attempt = await instance.begin({ ...facts, bytes, trace: deps.trace });
  const item = await indexNow(instance, { attempt, text, wait, deps });
  return withWarnings(item, attempt.warnings);
}

/** Returns an item with the warnings about its metadata before its own. */
function withWarnings(item: Item, about: readonly MetadataWarning[]): Item {
  const warnings = [...about, ...(item.warnings ?? [])];
  return warnings.length === 0 ? item : { ...item, warnings };
}

function checkFile({ key, bytes }: FileUpload): void {
  if (key === "")
    throw new ApiError("file_required", {
      message: "file_field_is_required: the file needs a name",
    });
  if (key.includes("\uFFFD"))
    throw new ApiError("file_required", {
      message: "file_field_is_required: the name of the file is not UTF-8",
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
  deps: WorkOptions,
): Promise<Item> {
  const attempt = await instance.beginSync(itemId, deps.trace ?? null);
  const text = await extractText<"later">(attempt.content, deps, () =>
    picturesLater(instance, deps),
  );
  return indexNow(instance, { attempt, text, wait, deps });
}

/** A request never waits for pictures to be read. */
export async function picturesLater(
  instance: Instance,
  { ocr }: Pick<WorkOptions, "ocr">,
): Promise<"later" | null> {
  return ocr !== undefined && usesOcr(await instance.read()) ? "later" : null;
}

interface IndexInputs {
  readonly attempt: Attempt;
  readonly text: ExtractedText | "later";
  readonly wait: boolean;
  readonly deps: WorkOptions;
}

async function indexNow(
  instance: Instance,
  { attempt, text, wait, deps }: IndexInputs,
): Promise<Item> {
  const { itemId, revision, settings, isOwn } = attempt;
  if (isOwn && text === "later")
    await instance.queuePictures(itemId, { revision, trace: deps.trace });
  else if (isOwn && text !== "later") await runAttempt(instance, attempt, text, deps);
  const waits = wait && settings.paused !== true;
  return waits ? settledItem(instance, itemId, deps) : instance.item(itemId);
}

/**
 * Resolves to the item once it is indexed, or once that has failed a first time, or when the patience of its caller ends.
 */
async function settledItem(
  instance: Instance,
  itemId: string,
  { platform: { system } }: SearchOptions,
): Promise<Item> {
  const end = system.monotonic() + WAIT_MS;
  for (let pause = 5; ; pause = Math.min(250, pause * 2)) {
    const item = await instance.item(itemId);
    const waits = item.status === "running" || item.status === "queued";
    if (!waits || system.monotonic() > end || system.closing?.aborted === true) return item;
    await system.sleep(pause);
  }
}

/** Splits and commits; what is wrong with the content is noted on the item, any other failure has the queue try again. */
async function runAttempt(
  instance: Instance,
  { itemId, revision, settings }: Attempt,
  text: ExtractedText,
  deps: WorkOptions,
): Promise<void> {
  const { system, log } = deps.platform;
  const started = system.monotonic();
  const took = (): number => Math.round(system.monotonic() - started);
  try {
    const chunks = await chunksOf(text, settings, deps);
    const { warnings = [], fields } = text;
    const tookMs = took();
    await instance.commit(itemId, { revision, chunks, warnings, fields, given: null, tookMs });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) throw error;
    log("warn", "An item could not be indexed", { item_id: itemId, error: String(error) });
    if (error instanceof ApiError && error.status < 500)
      await instance.fail(itemId, revision, error.message, took());
    else await instance.release(itemId);
  }
}
