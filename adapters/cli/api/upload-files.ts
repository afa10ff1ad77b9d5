import { lstat, readdir, readFile, stat } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";
import process from "node:process";
import { commandFailure } from "../command-options.ts";
import { type ApiClient, ServerRefusal } from "./api-client.ts";
import { progress } from "./progress.ts";

/** A file to be sent. */
interface LocalFile {
  readonly path: string;
  /** Its name on the server. */
  readonly key: string;
  readonly bytes: number;
}

/** Files of one command. */
const FILES = 20_000;
/** Files under way at a time. */
const LANES = 4;
/** How often a busy server is asked again for one file. */
const ATTEMPTS = 6;
/** Milliseconds that one upload may take. */
const UPLOAD_MS = 120_000;
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
  const waiting = [...files];
  let [done, bytes] = [0, 0];
  const lane = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const outcome = await upload(api, path, file).catch((error: unknown) => {
        // Without a server there is no next file.
        if (!(error instanceof ServerRefusal) && !isUnreadable(error)) throw error;
        failures.push(`${file.key}: ${error.message}`);
        return { key: file.key, error: error.message };
      });
      if (isJson) process.stdout.write(`${JSON.stringify(outcome)}\n`);
      [done, bytes] = [done + 1, bytes + file.bytes];
      shown.at(done, bytes);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  shown.end(`Uploaded ${files.length - failures.length} of ${files.length} files`);
  if (failures.length === 0) return;
  const first = failures.slice(0, 10).map((one) => `  ${one}\n`);
  process.stderr.write(first.join(""));
  throw new Error(`${failures.length} of ${files.length} files were not taken`);
}

async function upload(
  api: ApiClient,
  path: string,
  { path: file, key }: LocalFile,
): Promise<object> {
  for (let attempt = 1; ; attempt++) {
    const form = new FormData();
    form.set("file", new File([new Uint8Array(await readFile(file))], key));
    try {
      const question = { method: "POST", form, deadline: UPLOAD_MS };
      return (await api.ask<object>(`${path}/items`, question)).result;
    } catch (error) {
      const isBusy = error instanceof ServerRefusal && [429, 503].includes(error.status);
      if (!isBusy || attempt === ATTEMPTS) throw error;
      const seconds = Math.min(error.retryAfter ?? 2 ** attempt / 4, 30);
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    }
  }
}

function isUnreadable(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error && "path" in error;
}

/** The files that an argument names. What a link points to is sent for a link that is named, not for one in a folder. */
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
      throw new Error(`${left} items have been waiting for ${STILL_MS / 60_000} minutes`);
    shown.at(Math.max(0, total - left));
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  shown.end(`Indexed: ${stats.completed} items, ${stats.error} failed`);
  if (stats.error > 0)
    throw commandFailure(
      `${stats.error} items could not be indexed`,
      "causey search items NAME shows why",
    );
}
