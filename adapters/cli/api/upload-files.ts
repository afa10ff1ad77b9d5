import { setTimeout as pause } from "node:timers/promises";
import { lstat, readdir, readFile, stat } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";
import process from "node:process";
import { commandFailure } from "../context/command-options.ts";
import { type ApiClient, ServerRefusal } from "./api-client.ts";
import { printable } from "./output.ts";
import { progress } from "./progress.ts";
import { inLanes, isUnreadable, lackOf, sendFile, type SentItem } from "./send-file.ts";
import { counted } from "../../shared/work/counted.ts";

interface LocalFile {
  readonly path: string;
  /** Its name on the server. */
  readonly key: string;
  readonly bytes: number;
}

/** Files of one command. */
const FILES = 20_000;
/** Files that are named at the end. */
const SHOWN = 10;
/** Milliseconds between two looks at an index that is being built, and of no progress at all before that is a failure. */
const LOOK_MS = 500;
const STILL_MS = 300_000;

/** Sends files and folders to a search instance; throws when the server refused some. */
export async function uploadFiles(
  api: ApiClient,
  path: string,
  given: readonly string[],
  isJson: boolean,
): Promise<void> {
  const files = (await Promise.all(given.map(filesOf))).flat();
  if (files.length === 0) throw new Error(`There are no files in "${given.join('", "')}"`);
  const totalBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const shown = progress({ total: files.length, unit: "files", totalBytes });
  const failures: string[] = [];
  const lacks: string[] = [];
  let [done, bytes] = [0, 0];
  await inLanes(files, async (file) => {
    const { key } = file;
    const read = async (): Promise<Uint8Array<ArrayBuffer>> =>
      new Uint8Array(await readFile(file.path));
    const outcome = await sendFile<SentItem>(api, path, key, read).then(
      (item) => {
        const lack = lackOf(item);
        if (lack !== undefined) lacks.push(`${key}: ${lack}`);
        return item;
      },
      (error: unknown) => {
        // When the server is unreachable, the next file would fail too.
        if (!(error instanceof ServerRefusal) && !isUnreadable(error)) throw error;
        failures.push(`${key}: ${error.message}`);
        return { key, error: error.message };
      },
    );
    if (isJson) process.stdout.write(`${JSON.stringify(outcome)}\n`);
    [done, bytes] = [done + 1, bytes + file.bytes];
    shown.at(done, bytes);
  });
  shown.end(`Uploaded ${files.length - failures.length} of ${counted(files.length, "file")}`);
  if (lacks.length > 0) {
    process.stderr.write(`Not all was read of ${counted(lacks.length, "file")}:\n`);
    writeFirst(lacks);
  }
  if (failures.length === 0) return;
  writeFirst(failures);
  throw new Error(
    `${failures.length} of ${counted(files.length, "file")} ${failures.length === 1 ? "was" : "were"} not taken`,
  );
}

function writeFirst(lines: readonly string[]): void {
  const more = lines.length > SHOWN ? [`… and ${lines.length - SHOWN} more`] : [];
  for (const line of [...lines.slice(0, SHOWN), ...more])
    process.stderr.write(`  ${printable(line)}\n`);
}

/** Lists the files that an argument names. A link named itself is followed; links inside a folder are not. */
async function filesOf(given: string): Promise<LocalFile[]> {
  const facts = await stat(given).catch(() => {
    throw commandFailure(`There is no file or folder "${given}"`, "Name files or folders to send");
  });
  if (facts.isFile()) return [{ path: given, key: basename(given), bytes: facts.size }];
  const found: LocalFile[] = [];
  const folders = [given];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const name of await readdir(folder)) {
      if (name.startsWith(".")) continue;
      const path = join(folder, name);
      const inside = await lstat(path);
      if (inside.isDirectory()) folders.push(path);
      if (!inside.isFile()) continue;
      const key = relative(given, path).split(sep).join("/");
      if (found.length === FILES)
        throw new Error(`"${given}" holds more than ${FILES} files: name its folders one by one`);
      found.push({ path, key, bytes: inside.size });
    }
  }
  return found.toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

interface Stats {
  readonly queued: number;
  readonly running: number;
  readonly completed: number;
  readonly error: number;
}

/** Waits until an instance has nothing left to index. */
export async function waitForIndex(api: ApiClient, path: string): Promise<void> {
  const read = async (): Promise<Stats> => (await api.ask<Stats>(`${path}/stats`)).result;
  let stats = await read();
  const total = stats.queued + stats.running;
  const shown = progress({ total, unit: "items indexed" });
  let least = total;
  let movedAt = performance.now();
  for (; stats.queued + stats.running > 0; stats = await read()) {
    const left = stats.queued + stats.running;
    if (left < least) [least, movedAt] = [left, performance.now()];
    if (performance.now() - movedAt > STILL_MS)
      throw new Error(
        `${counted(left, "item has", "items have")} been waiting for ${STILL_MS / 60_000} minutes`,
      );
    shown.at(Math.max(0, total - left));
    await pause(LOOK_MS);
  }
  shown.end(`Indexed: ${counted(stats.completed, "item")}, ${stats.error} failed`);
  if (stats.error > 0)
    throw commandFailure(
      `${counted(stats.error, "item")} could not be indexed`,
      "causey search items NAME shows why",
    );
}
