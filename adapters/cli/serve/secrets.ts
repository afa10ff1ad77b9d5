import { randomUUID } from "node:crypto";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { guarded } from "../../shared/data-dir.ts";

/** A secret, where it is stored (null: only in the environment or in memory), and whether this start made it. */
export interface StoredSecret {
  readonly value: string;
  readonly path: string | null;
  readonly created: boolean;
}

/**
 * Returns the given secret; else the one stored as `name` in the data directory; else a new one, stored with mode 0600. In
 * memory nothing is stored.
 */
export function secretOf(
  given: string | undefined,
  dataDir: string,
  name: string,
  make: () => string,
): StoredSecret {
  if (given !== undefined && given !== "") return { value: given, path: null, created: false };
  if (dataDir === ":memory:") return { value: make(), path: null, created: true };
  return guarded(dataDir, () => storedSecret(dataDir, name, make));
}

function storedSecret(dataDir: string, name: string, make: () => string): StoredSecret {
  const path = join(dataDir, name);
  const exists = existsSync(path);
  const stored = exists ? readFileSync(path, "utf8").trim() : "";
  if (exists && (statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
  if (stored !== "") return { value: stored, path, created: false };
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const made = make();
  // An empty file is what a full disk leaves behind.
  keep(path, `${made}\n`, exists);
  // Several servers that start at once on one folder all read the secret that the first one wrote.
  const value = readFileSync(path, "utf8").trim();
  return { value, path, created: value === made };
}

/** Writes the file at once as a whole; an existing one is kept unless it is to be replaced. */
function keep(path: string, text: string, isReplaced: boolean): void {
  const fresh = `${path}.${randomUUID()}`;
  try {
    writeFileSync(fresh, text, { mode: 0o600, flag: "wx" });
    if (isReplaced) renameSync(fresh, path);
    else link(fresh, path, text);
  } finally {
    rmSync(fresh, { force: true });
  }
}

function link(fresh: string, path: string, text: string): void {
  try {
    linkSync(fresh, path);
  } catch (error) {
    // Not every file system has links.
    if (!isThere(error)) writeFileSync(path, text, { mode: 0o600, flag: "wx" });
  }
}

function isThere(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EEXIST";
}
