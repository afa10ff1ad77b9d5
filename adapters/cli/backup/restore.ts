import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { openDataDir } from "../../shared/data-dir.ts";
import { byteProgress } from "../api/progress.ts";
import { commandFailure } from "../context/command-options.ts";
import { readArchive, type UnpackedFile } from "./archive.ts";
import { checkDatabase } from "./backup.ts";
import { DATABASE, KEPT, MANIFEST, type Manifest, parseManifest } from "./manifest.ts";

/** A summary of what was restored. */
export interface RestoreReport {
  readonly dataDir: string;
  /** When the backup was made. */
  readonly createdAt: string;
  readonly version: string;
  readonly databaseBytes: number;
  /** The folder that keeps the replaced data; null when the data folder was empty. */
  readonly replaced: string | null;
}

/** No description of a backup is longer. */
const MANIFEST_BYTES = 65_536;

/** Suffixes of the files that SQLite keeps beside a database. */
const SIDES = ["-wal", "-shm", "-journal"].map((end) => `${DATABASE}${end}`);

/**
 * Puts a backup into a data folder that no server uses. The backup is unpacked and checked first; with `force` what it
 * replaces is kept in a folder of its own beside it.
 */
export async function restore(
  file: string,
  dataDir: string,
  { force, version: own }: { readonly force: boolean; readonly version: string },
): Promise<RestoreReport> {
  if (!existsSync(file))
    throw commandFailure(`There is no file "${file}"`, "Name a file that causey backup wrote");
  const isUsed = holdsData(dataDir);
  if (isUsed && !force)
    throw commandFailure(
      `"${dataDir}" is not empty`,
      "Choose another with --data-dir, or replace its data with --force",
    );
  const folder = openDataDir(dataDir);
  if (!folder.hold())
    throw commandFailure(
      `A server uses "${dataDir}"`,
      "Stop it first, or choose another folder with --data-dir",
    );
  const fresh = mkdtempSync(join(dataDir, "restore-"));
  try {
    const shown = byteProgress(statSync(file).size);
    const names = [MANIFEST, DATABASE, ...KEPT];
    const found = await readArchive(file, fresh, names, shown.more).finally(shown.end);
    const manifest = checkedManifest(fresh, found);
    if (isNewer(manifest.version, own))
      throw commandFailure(
        `This backup was written by causey ${manifest.version}, which is newer than this one (${own})`,
        "Restore it with that version: an older one could not read its tables",
      );
    checkDatabase(join(fresh, DATABASE));
    const replaced = isUsed ? setAside(dataDir) : null;
    // The database last: a folder without one is empty, and the same command can be run again.
    for (const name of [...KEPT, DATABASE])
      if (found.has(name)) renameSync(join(fresh, name), join(dataDir, name));
    const { createdAt, version } = manifest;
    const databaseBytes = statSync(join(dataDir, DATABASE)).size;
    return { dataDir, createdAt, version, databaseBytes, replaced };
  } finally {
    rmSync(fresh, { recursive: true, force: true });
    folder.release();
  }
}

/** Whether a version comes after another one; what follows a hyphen or a plus sign does not count. */
function isNewer(version: string, than: string): boolean {
  const parts = (text: string): number[] => (text.split(/[-+]/u)[0] ?? "").split(".").map(Number);
  const [a, b] = [parts(version), parts(than)];
  const at = [0, 1, 2].find((index) => a[index] !== b[index]);
  return at !== undefined && (a[at] ?? 0) > (b[at] ?? 0);
}

function holdsData(dataDir: string): boolean {
  if (!existsSync(dataDir)) return false;
  const isData = (name: string): boolean =>
    KEPT.includes(name) ||
    SIDES.includes(name) ||
    (name === DATABASE && statSync(join(dataDir, name)).size > 0);
  return readdirSync(dataDir).some(isData);
}

/** Moves the data of a folder into one below it, so that nothing is lost by a wrong command. */
function setAside(dataDir: string): string {
  const aside = join(
    dataDir,
    `before-restore-${new Date().toISOString().replaceAll(/[:.]/gu, "-")}`,
  );
  mkdirSync(aside, { mode: 0o700 });
  // The database last: until it has moved the folder holds what it held.
  for (const name of [...KEPT, ...SIDES, DATABASE])
    if (existsSync(join(dataDir, name))) renameSync(join(dataDir, name), join(aside, name));
  return aside;
}

function checkedManifest(folder: string, found: ReadonlyMap<string, UnpackedFile>): Manifest {
  if (!found.has(MANIFEST) || !found.has(DATABASE))
    throw new Error("This is not a backup of causey: it is incomplete");
  const path = join(folder, MANIFEST);
  if (statSync(path).size > MANIFEST_BYTES) throw new Error("This backup cannot be read");
  const manifest = parseManifest(readFileSync(path, "utf8"));
  for (const [name, { bytes, sha256 }] of found) {
    const said = manifest.files[name];
    if (name !== MANIFEST && (said?.bytes !== bytes || said.sha256 !== sha256))
      throw new Error(`This backup is damaged: "${name}" has changed since it was written`);
  }
  return manifest;
}
