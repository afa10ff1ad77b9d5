import { execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { inject } from "vitest";
import { eventually } from "../cases/eventually.ts";

/** The first version that passes prepared statements on in transaction mode (https://www.pgbouncer.org/changelog.html). */
const PREPARES = [1, 21];

/** A PgBouncer in transaction mode in front of a database. */
export interface Pooler {
  /** The address of the database through it; without prepared statements where it cannot pass them on. */
  readonly url: string;
  stop(): void;
}

/** The version of the installed PgBouncer; null where there is none. */
export function pgbouncerVersion(): readonly number[] | null {
  try {
    const text = execFileSync("pgbouncer", ["--version"], { encoding: "utf8", env: withSbin() });
    return /(\d+)\.(\d+)/u.exec(text)?.slice(1, 3).map(Number) ?? null;
  } catch {
    return null;
  }
}

/** Debian has the command where ordinary users do not look for it. */
function withSbin(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${process.env["PATH"]}:/usr/sbin` };
}

/** Starts the installed PgBouncer with so many connections to the database. */
export async function pooled(
  database: string,
  version: readonly number[],
  connections: number,
): Promise<Pooler> {
  const at = new URL(database);
  const folder = mkdtempSync(join(inject("scratch"), "pgbouncer-"));
  const isRoot = process.getuid?.() === 0;
  const file = join(folder, "pgbouncer.ini");
  const port = await freePort();
  writeFileSync(join(folder, "users"), `"${at.username}" "${at.password}"\n`);
  const name = at.pathname.slice(1);
  const lines = [
    "[databases]",
    `${name} = host=${at.hostname} port=${at.port} user=${at.username} password=${at.password}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = plain",
    `auth_file = ${join(folder, "users")}`,
    "pool_mode = transaction",
    `default_pool_size = ${connections}`,
    "max_client_conn = 200",
  ];
  writeFileSync(file, lines.join("\n"));
  // It refuses to run as root.
  if (isRoot) chmodSync(folder, 0o755);
  const child = spawn("pgbouncer", ["-q", ...(isRoot ? ["-u", "nobody"] : []), file], {
    env: withSbin(),
    stdio: "ignore",
  });
  await eventually(() => answers(port), "PgBouncer listens");
  at.hostname = "127.0.0.1";
  at.port = String(port);
  const [major = 0, minor = 0] = version;
  const prepares = major > PREPARES[0]! || (major === PREPARES[0] && minor >= PREPARES[1]!);
  if (!prepares) at.searchParams.set("prepare", "false");
  return { url: at.href, stop: () => void child.kill("SIGKILL") };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => {
      resolve(false);
    });
  });
}
