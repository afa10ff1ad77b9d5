import { createHash, randomUUID } from "node:crypto";
import {
  createReadStream,
  existsSync,
  linkSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "../../shared/sqlite/database-sync.ts";
import { byteProgress, copyNotice } from "../api/progress.ts";
import { commandFailure } from "../context/command-options.ts";
import { writeArchive } from "./archive.ts";
import { DATABASE, KEPT, MANIFEST, type Manifest } from "./manifest.ts";

/** A summary of a written backup. */
export interface BackupReport {
  readonly file: string;
  readonly bytes: number;
  readonly databaseBytes: number;
  readonly createdAt: string;
}

/**
 * Writes all that a data folder keeps into one file, beside a running server or without one. The database is copied as it
 * is at one moment (https://www.sqlite.org/lang_vacuum.html#vacuuminto) and checked; the file appears when it is whole.
 */
export async function backUp(
  dataDir: string,
  file: string,
  { force, version }: { readonly force: boolean; readonly version: string },
): Promise<BackupReport> {
  const database = join(dataDir, DATABASE);
  if (!existsSync(database) || statSync(database).size === 0)
    throw commandFailure(
      `There is nothing to back up in "${dataDir}"`,
      "Name the server's folder with --data-dir",
    );
  if (existsSync(file) && !force)
    throw commandFailure(
      `"${file}" is there already`,
      "Choose another name, or replace it with --force",
    );
  const folder = mkdtempSync(join(dirname(file), ".causey-backup-"));
  const drop = (): void => rmSync(folder, { recursive: true, force: true });
  const interrupted = (): void => {
    drop();
    process.exit(130);
  };
  process.once("SIGINT", interrupted);
  let clear = (): void => undefined;
  try {
    const copy = join(folder, DATABASE);
    clear = copyNotice("the database", statSync(database).size);
    copyDatabase(database, copy);
    const kept = KEPT.filter((name) => existsSync(join(dataDir, name)));
    const files = [
      { name: DATABASE, path: copy },
      ...kept.map((name) => ({ name, path: join(dataDir, name) })),
    ];
    const createdAt = new Date().toISOString();
    const manifest: Manifest = { format: 1, version, createdAt, files: {} };
    for (const { name, path } of files)
      manifest.files[name] = { bytes: statSync(path).size, sha256: await hashOf(path) };
    const sizes = Object.values(manifest.files).map(({ bytes }) => bytes);
    const shown = byteProgress(sizes.reduce((sum, bytes) => sum + bytes, 0));
    clear();
    const described = join(folder, MANIFEST);
    writeFileSync(described, JSON.stringify(manifest), { mode: 0o600 });
    const whole = join(folder, `${randomUUID()}.tar.gz`);
    const all = [{ name: MANIFEST, path: described }, ...files];
    await writeArchive(whole, all, shown.more).finally(shown.end);
    place(whole, file, force);
    return { file, bytes: statSync(file).size, databaseBytes: statSync(copy).size, createdAt };
  } catch (error) {
    clear();
    throw error;
  } finally {
    process.off("SIGINT", interrupted);
    drop();
  }
}

/** A link fails where a file has come meanwhile; a rename replaces it. */
function place(whole: string, file: string, force: boolean): void {
  if (force) return renameSync(whole, file);
  try {
    linkSync(whole, file);
  } catch (error) {
    if (existsSync(file))
      throw commandFailure(
        `"${file}" is there already`,
        "Choose another name, or replace it with --force",
      );
    // Not every file system has links.
    if (error instanceof Error) renameSync(whole, file);
  }
}

/** How long another process's writing is waited for, in ms. */
const BUSY_MS = 15_000;

function copyDatabase(from: string, to: string): void {
  const db = new DatabaseSync(from);
  try {
    db.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    db.prepare("VACUUM INTO ?").run(to);
  } finally {
    db.close();
  }
  checkDatabase(to);
}

/** Throws when a database file is damaged. */
export function checkDatabase(path: string): void {
  const db = new DatabaseSync(path);
  try {
    const rows = db.prepare("PRAGMA quick_check").all();
    const [first] = rows.flatMap((row) => Object.values(row));
    if (first !== "ok") throw new Error(`The database is damaged: ${String(first).slice(0, 200)}`);
  } finally {
    db.close();
  }
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) {
    const bytes: Uint8Array = chunk;
    hash.update(bytes);
  }
  return hash.digest("hex");
}
