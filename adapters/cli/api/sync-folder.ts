import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { FILE_LIMIT } from "../../../core/search/ingest/extract-text.ts";
import { doubledPause } from "../../../core/work/backoff.ts";
import { commandFailure } from "../context/command-options.ts";
import { type ApiClient, ServerRefusal } from "./api-client.ts";
import { printable } from "./output.ts";
import { progress } from "./progress.ts";
import { inLanes, isUnreadable, lackOf, sendFile, type SentItem } from "./send-file.ts";
import { type ScannedFile, scanFolder } from "./scan-folder.ts";
import { counted } from "../../shared/work/counted.ts";

/** How {@link syncFolder} works. */
export interface SyncOptions {
  /** The prefix of the files' keys; items with other keys are left alone. */
  readonly prefix: string;
  /** Whether items are deleted whose files are gone. */
  readonly deletes: boolean;
  /** Whether it goes on for ever. */
  readonly watches: boolean;
  readonly isJson: boolean;
}

/** An item of the instance. */
interface Item extends SentItem {
  readonly id: string;
  readonly key: string;
  readonly checksum: string;
  readonly source_id: string;
}

/** The state of both sides. */
interface Sides {
  readonly root: string;
  readonly items: Map<string, Item>;
  /** Files that need no more work, by their keys: size and time of change as they were then. */
  readonly settled: Map<string, string>;
}

type Outcome = "uploaded" | "unchanged" | "deleted" | "left_out" | "failed";

/** Milliseconds between two looks at a watched folder, and how many times longer than a look that takes. */
const LOOK_MS = 1000;
const LOOK_SHARE = 20;
/** Longest pause of a watch whose server does not answer, in ms. */
const AWAY_MS = 30_000;
/** Characters of a key (docs/search.md). */
const MAX_KEY = 128;
/** Codes of refusals that blame the file: it is not what this server indexes. */
const NOT_INDEXED: ReadonlySet<number> = new Set([7054, 7056, 7060, 7072]);
/** Reasons that are printed. */
const REASONS = 10;

/**
 * Makes the items of an instance those of a folder: files whose SHA-256 differs are uploaded, items without a file are deleted
 * where that is wished. Each upload stands for itself, so a run that was cut off goes on with the next. Ctrl-C ends it after the
 * files that are under way.
 */
export async function syncFolder(
  api: ApiClient,
  path: string,
  root: string,
  options: SyncOptions,
): Promise<void> {
  const facts = await stat(root).catch(() => null);
  if (facts?.isDirectory() !== true)
    throw commandFailure(`There is no folder "${root}"`, "Name the folder to sync");
  const stop = new AbortController();
  process.once("SIGINT", () => {
    process.exitCode = 130;
    stop.abort();
  });
  const listed = await api.all<Item>(`${path}/items?source=builtin`);
  const own = listed.filter(({ key }) => key.startsWith(options.prefix));
  const sides = { root, items: new Map(own.map((one) => [one.key, one])), settled: new Map() };
  const failed = await pass(api, path, { sides, options, signal: stop.signal });
  if (options.watches) return watch(api, path, { sides, options, signal: stop.signal });
  if (failed > 0) throw new Error(`${counted(failed, "file was", "files were")} not taken`);
}

interface FolderSync {
  readonly sides: Sides;
  readonly options: SyncOptions;
  readonly signal: AbortSignal;
}

async function watch(
  api: ApiClient,
  path: string,
  { sides, options, signal }: FolderSync,
): Promise<void> {
  process.stderr.write(`Watching "${printable(sides.root)}"; Ctrl-C ends it\n`);
  let wait = LOOK_MS;
  for (let failures = 0; ;) {
    // Ctrl-C ends the pause, too.
    await pause(wait, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const began = performance.now();
    try {
      await pass(api, path, { sides, options, signal });
      failures = 0;
    } catch (error) {
      failures += 1;
      const why = error instanceof Error ? error.message : String(error);
      process.stderr.write(`error: ${printable(why)}\n`);
    }
    const look = Math.max(LOOK_MS, LOOK_SHARE * (performance.now() - began));
    wait = failures === 0 ? look : doubledPause({ baseMs: LOOK_MS, maxMs: AWAY_MS }, failures);
  }
}

/** Brings the instance up to date once; how many files failed. */
async function pass(
  api: ApiClient,
  path: string,
  { sides, options: { prefix, deletes, isJson, watches }, signal }: FolderSync,
): Promise<number> {
  const isFirst = sides.settled.size === 0;
  const files = await scanFolder(sides.root);
  // A disk that is not mounted must not empty the index.
  if (files.length === 0) throw new Error(`There are no files in "${sides.root}"`);
  const keys = new Set(files.map(({ key }) => prefix + key));
  const changed = files.filter((file) => sides.settled.get(file.key) !== version(file));
  const gone = [...sides.items.values()].filter(({ key }) => !keys.has(key));
  const doomed = deletes ? gone : [];
  if (changed.length + doomed.length === 0 && !isFirst) return 0;
  const shown = progress({
    total: changed.length + doomed.length,
    unit: "files",
    totalBytes: changed.reduce((sum, file) => sum + file.bytes, 0),
  });
  const counts = { uploaded: 0, unchanged: 0, deleted: 0, left_out: 0, failed: 0 };
  const reasons: string[] = [];
  let [done, bytes] = [0, 0];
  const note = (key: string, action: Outcome, reason?: string): void => {
    counts[action] += 1;
    if (reason !== undefined && reasons.length < REASONS) reasons.push(`${key}: ${reason}`);
    if (isJson && action !== "unchanged") print({ key, action, reason });
    shown.at((done += 1), bytes);
  };
  await inLanes(changed, async (file) => {
    if (signal.aborted) return;
    const key = prefix + file.key;
    const [action, reason] = await settle(api, path, { sides, key, file });
    bytes += file.bytes;
    if (action !== "failed") sides.settled.set(file.key, version(file));
    note(key, action, reason);
  });
  await inLanes(doomed, async ({ key, id }) => {
    if (signal.aborted) return;
    await api.ask(`${path}/items/${id}`, { method: "DELETE" }).catch((error: unknown) => {
      // Another client has already deleted it.
      if (!(error instanceof ServerRefusal) || error.status !== 404) throw error;
    });
    sides.items.delete(key);
    sides.settled.delete(key.slice(prefix.length));
    note(key, "deleted");
  });
  const { uploaded, unchanged, deleted, left_out: leftOut, failed } = counts;
  shown.end(
    signal.aborted
      ? `Stopped after ${done} of ${counted(changed.length + doomed.length, "file")}: run it again to go on`
      : `Synced: ${uploaded} uploaded, ${unchanged} unchanged, ${deleted} deleted, ${leftOut} left out, ${failed} failed`,
  );
  process.stderr.write(reasons.map((one) => `  ${printable(one)}\n`).join(""));
  if (!deletes && gone.length > 0 && (isFirst || !watches))
    process.stderr.write(
      `${counted(gone.length, "item has", "items have")} no file any more: --delete deletes ${gone.length === 1 ? "it" : "them"}\n`,
    );
  if (isJson) print({ ...counts, without_file: gone.length - doomed.length });
  return failed;
}

/** Names the state of a file when it was looked at. */
function version({ bytes, modified }: ScannedFile): string {
  return `${bytes} ${modified}`;
}

function print(row: object): void {
  process.stdout.write(`${JSON.stringify(row)}\n`);
}

interface ChangedFile {
  readonly sides: Sides;
  readonly key: string;
  readonly file: ScannedFile;
}

/** Uploads a file where the instance has another one under its key. */
async function settle(
  api: ApiClient,
  path: string,
  { sides: { items }, key, file }: ChangedFile,
): Promise<readonly [Outcome, string?]> {
  if (file.bytes > FILE_LIMIT) return ["left_out", `has more than ${FILE_LIMIT} bytes`];
  if (key.length > MAX_KEY) return ["left_out", `its key has more than ${MAX_KEY} characters`];
  try {
    const content = new Uint8Array(await readFile(file.path));
    const checksum = createHash("sha256").update(content).digest("hex");
    if (items.get(key)?.checksum === checksum) return ["unchanged"];
    const item = await sendFile<Item>(api, path, key, () => Promise.resolve(content));
    items.set(key, { ...item, checksum });
    const lack = lackOf(item);
    return lack === undefined ? ["uploaded"] : ["uploaded", lack];
  } catch (error) {
    if (error instanceof ServerRefusal) {
      const isLeftOut = error.code !== null && NOT_INDEXED.has(error.code);
      return [isLeftOut ? "left_out" : "failed", error.message];
    }
    if (isUnreadable(error)) return ["failed", error.message];
    throw error;
  }
}
