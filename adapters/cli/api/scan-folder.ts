import { lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import createRules, { type Ignore } from "ignore";

export interface ScannedFile {
  readonly path: string;
  /** Its path from the folder, with slashes. */
  readonly key: string;
  readonly bytes: number;
  /** Unix ms. */
  readonly modified: number;
}

/** Files whose lines say what is left out, as those of Git do. The later one wins. */
const IGNORE_FILES = [".gitignore", ".causeyignore"];
/** Files of one folder. */
const FILES = 100_000;
/** Files that are looked at in a row before others may go on. */
const STEP = 64;

/** The ignore rules of one folder; paths are tested from there. */
interface FolderRules {
  /** The folder's own path, with a slash at its end; empty for the root. */
  readonly base: string;
  readonly rules: Ignore;
}

interface Folder {
  readonly base: string;
  /** From the root to this folder. */
  readonly rules: readonly FolderRules[];
}

/**
 * Lists all files of a folder, in the order of their keys. Left out are names that begin with a dot, links, and what ignore
 * files say. Throws when any folder cannot be read: its files would seem to be gone.
 */
export async function scanFolder(root: string): Promise<ScannedFile[]> {
  const found: ScannedFile[] = [];
  const folders: Folder[] = [{ base: "", rules: [] }];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await readdir(join(root, folder.base), { withFileTypes: true });
    const inside = await withOwnRules(root, folder, new Set(entries.map(({ name }) => name)));
    const kept = entries.filter(({ name }) => !name.startsWith("."));
    const paths: string[] = [];
    for (const entry of kept) {
      const key = folder.base + entry.name;
      if (entry.isDirectory()) {
        if (!isIgnored(`${key}/`, inside)) folders.push({ base: `${key}/`, rules: inside });
      } else if (entry.isFile() && !isIgnored(key, inside)) paths.push(key);
    }
    for (let at = 0; at < paths.length; at += STEP)
      found.push(...(await filesAt(root, paths.slice(at, at + STEP))));
    if (found.length > FILES)
      throw new Error(`"${root}" holds more than ${FILES} files: sync its folders one by one`);
  }
  return found.toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

async function filesAt(root: string, keys: readonly string[]): Promise<ScannedFile[]> {
  const files = await Promise.all(
    keys.map(async (key): Promise<ScannedFile[]> => {
      const path = join(root, key);
      const facts = await lstat(path).catch((error: unknown) => {
        // It was deleted since the folder was read.
        if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
        throw error;
      });
      return facts?.isFile() === true
        ? [{ path, key, bytes: facts.size, modified: facts.mtimeMs }]
        : [];
    }),
  );
  return files.flat();
}

async function withOwnRules(
  root: string,
  { base, rules }: Folder,
  names: ReadonlySet<string>,
): Promise<readonly FolderRules[]> {
  const own = createRules();
  const present = IGNORE_FILES.filter((name) => names.has(name));
  for (const name of present) own.add(await readFile(join(root, base, name), "utf8"));
  return present.length === 0 ? rules : [...rules, { base, rules: own }];
}

/** A deeper folder's rules outrank those above it. */
function isIgnored(path: string, rules: readonly FolderRules[]): boolean {
  let ignored = false;
  for (const one of rules) {
    const result = one.rules.test(path.slice(one.base.length));
    if (result.ignored) ignored = true;
    if (result.unignored) ignored = false;
  }
  return ignored;
}
