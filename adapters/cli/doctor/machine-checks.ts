import { existsSync, mkdtempSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join, resolve } from "node:path";
import { DatabaseSync } from "../../shared/sqlite/database-sync.ts";
import { listenError } from "../../shared/http/drain.ts";
import { type DoctorFinding, failureReason, timeLimited } from "./finding.ts";

/** Below this much free space a data folder is soon full, bytes. */
const SCARCE = 1e9;
/** Below this much it is as good as full: a checkpoint alone may take as much. */
const FULL = 1e8;
/** How long a server on the port has to say who it is, in ms. */
const PROBE_MS = 3000;

/** Whether a server could listen, or causey does already. */
export async function checkListenPort(port: number, host: string): Promise<DoctorFinding> {
  const check = "port";
  const error = await listenProblem(port, host);
  if (error === null) return { check, status: "ok", detail: `${host}:${port} is free` };
  if (await isCausey(port, host))
    return { check, status: "ok", detail: `A causey answers at ${host}:${port} already` };
  const [detail = "", hint = ""] = listenError(error, host, port).message.split(/: (?=\w)/u);
  return { check, status: "fail", detail, hint };
}

function listenProblem(port: number, host: string): Promise<Error | null> {
  return new Promise((resolveWith) => {
    const server = createServer();
    server.once("error", resolveWith);
    server.listen(port, host, () => server.close(() => resolveWith(null)));
  });
}

async function isCausey(port: number, host: string): Promise<boolean> {
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  const url = `http://${name.includes(":") ? `[${name}]` : name}:${port}/readyz`;
  try {
    const answer = await timeLimited(PROBE_MS, async (signal): Promise<unknown> => {
      const response = await fetch(url, { signal });
      return response.json();
    });
    return typeof answer === "object" && answer !== null && "capabilities" in answer;
  } catch {
    return false;
  }
}

/** Whether the data folder can be written, is private, and has room. */
export function checkFolder(dataDir: string): DoctorFinding[] {
  if (dataDir === ":memory:")
    return [
      {
        check: "data folder",
        status: "warn",
        detail: "Nothing is stored: everything is in memory",
      },
    ];
  const folder = nearestFolder(resolve(dataDir));
  const shown = existsSync(dataDir) ? `"${dataDir}"` : `"${dataDir}" will be made in "${folder}"`;
  return [writable(folder, shown, dataDir), room(folder)];
}

/** Returns the folder itself, or the one in which it would be made. */
function nearestFolder(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestFolder(dirname(path));
}

function writable(folder: string, shown: string, dataDir: string): DoctorFinding {
  const check = "data folder";
  try {
    rmSync(mkdtempSync(join(folder, ".causey-doctor-")), { recursive: true });
  } catch (error) {
    const hint = "Choose a folder that this user may write with --data-dir";
    return { check, status: "fail", detail: failureReason(error), hint };
  }
  const token = join(dataDir, "token");
  if (existsSync(token) && (statSync(token).mode & 0o077) !== 0)
    return {
      check,
      status: "warn",
      detail: `Other users may read "${token}"`,
      hint: `chmod 600 ${token}`,
    };
  return { check, status: "ok", detail: shown };
}

function room(folder: string): DoctorFinding {
  const check = "disk";
  try {
    const { bavail, bsize } = statfsSync(folder);
    const free = bavail * bsize;
    const detail = `${(free / 1e9).toFixed(1)} GB free`;
    if (free >= SCARCE) return { check, status: "ok", detail };
    return {
      check,
      status: free < FULL ? "fail" : "warn",
      detail,
      hint: "Free some space: on a full disk the server accepts no writes",
    };
  } catch (error) {
    return { check, status: "warn", detail: `Free space is not known: ${failureReason(error)}` };
  }
}

/** Whether SQLite has what is needed, on the file system of the data folder. */
export function checkSqlite(dataDir: string): DoctorFinding {
  const check = "sqlite";
  let folder: string | null = null;
  try {
    folder = mkdtempSync(
      join(nearestFolder(resolve(dataDir === ":memory:" ? "." : dataDir)), ".causey-doctor-"),
    );
    writeFileSync(join(folder, "probe"), "");
    const db = new DatabaseSync(join(folder, "probe.db"));
    try {
      const mode = Object.values(db.prepare("PRAGMA journal_mode = WAL").get() ?? {})[0];
      db.exec("CREATE VIRTUAL TABLE texts USING fts5(text); INSERT INTO texts VALUES ('a word')");
      const found = db
        .prepare("SELECT count(*) AS count FROM texts WHERE texts MATCH 'word'")
        .get();
      const version = Object.values(db.prepare("SELECT sqlite_version()").get() ?? {})[0];
      if (mode !== "wal")
        return {
          check,
          status: "fail",
          detail: "The file system has no write-ahead log",
          hint: "Put the data folder on a local disk with --data-dir",
        };
      if (found?.["count"] !== 1)
        return { check, status: "fail", detail: "The full-text search finds nothing" };
      return { check, status: "ok", detail: `SQLite ${String(version)}, with full-text search` };
    } finally {
      db.close();
    }
  } catch (error) {
    return { check, status: "fail", detail: failureReason(error) };
  } finally {
    if (folder !== null) rmSync(folder, { recursive: true, force: true });
  }
}
