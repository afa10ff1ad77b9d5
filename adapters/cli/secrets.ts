import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A secret, where it is stored (null: only in the environment), and whether this start made it. */
export interface StoredSecret {
  readonly value: string;
  readonly path: string | null;
  readonly created: boolean;
}

/** The given secret; else the one stored as `name` in the data directory; else a new one, stored with mode 0600. */
export function secretOf(
  given: string | undefined,
  dataDir: string,
  name: string,
  make: () => string,
): StoredSecret {
  if (given !== undefined && given !== "") return { value: given, path: null, created: false };
  const path = join(dataDir, name);
  const exists = existsSync(path);
  const stored = exists ? readFileSync(path, "utf8").trim() : "";
  if (exists && (statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
  if (stored !== "") return { value: stored, path, created: false };
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const value = make();
  // "wx": of two servers that start at once on one folder, the second fails here instead of overwriting.
  // An empty file is what a full disk leaves behind.
  writeFileSync(path, `${value}\n`, { mode: 0o600, flag: exists ? "w" : "wx" });
  return { value, path, created: true };
}
