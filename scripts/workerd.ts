// Runs one Worker in a real workerd: bundles it, writes the configuration, starts the process.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve as absolute } from "node:path";
import type { Readable } from "node:stream";
import { build } from "esbuild";
import binary from "workerd";
import { standardError } from "../adapters/shared/log/standard-log.ts";
import type { Browser } from "../core/ports.ts";
import { serveBrowserBinding } from "./browser-binding.ts";

/** The semantics that the Worker gets; the same in examples/workers/wrangler.jsonc. */
const COMPATIBILITY_DATE = "2026-05-15";
/** Makes `request.signal` tell that the client left; no date switches it on. */
const COMPATIBILITY_FLAG = "enable_request_signal";

/** Characters of a line that are waited for. */
const LINE = 64 * 1024;

/** Options of {@link startWorkerd}. */
export interface WorkerdOptions {
  /** Main module of the Worker. */
  readonly entry: string;
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  /** Folder of the Durable Objects' databases. */
  readonly storageDir: string;
  /** Text bindings. */
  readonly vars: Readonly<Record<string, string>>;
  /** The browser of the browser binding; null = no binding. */
  readonly browser: Browser | null;
  /** Whether a line of the log is left out, e.g. because it is about the start's own requests. @default none */
  readonly isUnsaid?: (line: string) => boolean;
}

/** A running workerd. */
export interface Workerd {
  readonly port: number;
  readonly child: ChildProcess;
  /** Closes WebSockets with 1001 and lets requests under way finish, for at most `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

/** Starts workerd and resolves once it listens; rejects with what it complained about. */
export async function startWorkerd(options: WorkerdOptions): Promise<Workerd> {
  const folder = mkdtempSync(join(tmpdir(), "causey-workerd-"));
  const { browser } = options;
  const binding =
    browser === null ? null : await serveBrowserBinding(browser, join(folder, "browser.sock"));
  const release = async (): Promise<void> => {
    await binding?.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await prepare(options, folder);
    const child = spawnWorkerd(folder, options);
    const port = await listening(child);
    // workerd has read them, and they hold the operator's secrets.
    for (const name of readdirSync(folder)) if (!name.endsWith(".sock")) rmSync(join(folder, name));
    child.once("exit", () => void release());
    return { port, child, stop: (graceMs) => stop(child, folder, graceMs).then(release) };
  } catch (error) {
    await release();
    throw error;
  }
}

/** Writes what workerd reads. Values are embedded files: they need no escaping. */
async function prepare(options: WorkerdOptions, folder: string): Promise<void> {
  mkdirSync(options.storageDir, { recursive: true, mode: 0o700 });
  const exported = await bundle(options.entry, join(folder, "worker.js"));
  for (const [name, value] of Object.entries(options.vars))
    writeFileSync(join(folder, `${name}.txt`), value);
  const hasControl = exported.includes("control");
  writeFileSync(join(folder, "config.capnp"), configOf(options, folder, hasControl));
}

function spawnWorkerd(folder: string, { isUnsaid }: WorkerdOptions): ChildProcess {
  const child = spawn(binary.default, ["serve", join(folder, "config.capnp"), "--control-fd=3"], {
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    // Its own group: a Ctrl-C of the terminal is for this process, which then lets workerd drain.
    detached: true,
    env: environment(),
  });
  endWithThisProcess(child, folder);
  onLines(child.stdout, (lines) => {
    const said = lines.split(/(?<=\n)/u).filter((line) => isUnsaid?.(line) !== true);
    standardError.write(said.join(""));
  });
  return child;
}

async function stop(child: ChildProcess, folder: string, graceMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
  const control = join(folder, "control.sock");
  // workerd waits for open WebSockets as for requests, and only the Worker can close them.
  await tell(control, "/close-sockets", graceMs, "end");
  // It does not wait for what requests leave behind: one is held open until that is done.
  await tell(control, "/settle", graceMs, "data");
  child.kill("SIGTERM");
  await exited;
  clearTimeout(timer);
}

/** Bundles the Worker and returns the names that its main module exports. */
async function bundle(entry: string, outfile: string): Promise<readonly string[]> {
  const { metafile } = await build({
    metafile: true,
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: "esm",
    platform: "neutral",
    target: "es2024",
    conditions: ["workerd", "worker", "browser", "import", "module"],
    mainFields: ["module", "main"],
    external: ["cloudflare:*"],
    logLevel: "warning",
  });
  return Object.values(metafile.outputs).flatMap((output) => output.exports);
}

function configOf(
  { host, port, storageDir, vars, browser }: WorkerdOptions,
  folder: string,
  hasControl: boolean,
): string {
  const text = (value: string): string => JSON.stringify(value);
  const unix = (name: string): string => text(`unix:${join(folder, name)}`);
  const address = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const bindings = [
    `(name = "CAUSEY", durableObjectNamespace = "CauseyObject")`,
    `(name = "CAUSEY_EGRESS", service = "public")`,
    ...Object.keys(vars).map(
      (name) => `(name = ${text(name)}, text = embed ${text(`${name}.txt`)})`,
    ),
    ...(browser === null ? [] : [`(name = "BROWSER", service = "browser")`]),
  ];
  const services = [
    `(name = "main", worker = .main)`,
    `(name = "storage", disk = (path = ${text(absolute(storageDir))}, writable = true))`,
    // The operator's addresses may be on this machine; addresses from callers go through "public", where workerd checks the
    // address that a name resolved to.
    `(name = "everywhere", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true)))`,
    `(name = "public", network = (allow = ["public"], tlsOptions = (trustBrowserCas = true)))`,
    ...(browser === null
      ? []
      : [`(name = "browser", external = (address = ${unix("browser.sock")}, http = ()))`]),
  ];
  const sockets = [
    `(name = "http", address = ${text(address)}, http = (), service = "main")`,
    // A user's own Worker may lack it; its sockets then end with the process.
    ...(hasControl
      ? [
          `(name = "control", address = ${unix("control.sock")}, http = (), service = (name = "main", entrypoint = "control"))`,
        ]
      : []),
  ];
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [${services.join(", ")}],
  sockets = [${sockets.join(", ")}]
);
const main :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = ${text(COMPATIBILITY_DATE)},
  compatibilityFlags = [${text(COMPATIBILITY_FLAG)}],
  globalOutbound = "everywhere",
  bindings = [${bindings.join(", ")}],
  durableObjectNamespaces = [(className = "CauseyObject", uniqueKey = "causey", enableSql = true)],
  durableObjectStorage = (localDisk = "storage")
);
`;
}

/** Resolves to the port that workerd reports on its control channel once it listens; rejects with its complaint. */
function listening(child: ChildProcess): Promise<number> {
  const control = child.stdio[3] as Readable;
  let reports = "";
  let complaint = "";
  let isUp = false;
  onLines(child.stderr, (lines) => {
    if (isUp) standardError.write(lines);
    else complaint = (complaint + lines).slice(-4000);
  });
  return new Promise((resolve, reject) => {
    control.setEncoding("utf8").on("data", (chunk: string) => {
      reports += chunk;
      const port = /"event":"listen","socket":"http","port":(\d+)/u.exec(reports)?.[1];
      if (isUp || port === undefined) return;
      isUp = true;
      standardError.write(complaint);
      resolve(Number(port));
    });
    child.once("error", reject);
    child.once("close", () => {
      reject(new Error(complaint.trim()));
    });
  });
}

/** Reads what a process says as fast as it comes, which would wait else; a long line, or the last one, in parts. */
function onLines(stream: Readable | null, read: (lines: string) => void): void {
  let rest = "";
  stream?.setEncoding("utf8").on("data", (chunk: string) => {
    const text = rest + chunk;
    const end = text.lastIndexOf("\n") + 1 || (text.length > LINE ? text.length : 0);
    rest = text.slice(end);
    if (end > 0) read(text.slice(0, end));
  });
  stream?.once("end", () => read(rest));
}

/**
 * Sends a request over a Unix socket, and waits for the end of the answer or for its first data; a failure means that the
 * process has already ended.
 */
function tell(
  socketPath: string,
  path: string,
  timeout: number,
  until: "data" | "end",
): Promise<void> {
  return new Promise((resolve) => {
    const client = request({ socketPath, path, method: "POST", timeout }, (response) => {
      response.once(until, () => resolve());
      // Also when nothing came.
      response.resume().once("close", resolve);
    });
    client.once("timeout", () => client.destroy());
    client.once("error", () => {
      resolve();
    });
    client.end();
  });
}

/** workerd must not outlive this process, however that ends: a shell waits for the end of a pipe from here. */
function endWithThisProcess(child: ChildProcess, folder: string): void {
  if (child.pid === undefined || process.platform === "win32") return;
  const script = 'read _; kill -KILL "$1" 2>/dev/null; rm -rf "$2"';
  const watchdog = spawn("/bin/sh", ["-c", script, "sh", String(child.pid), folder], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
    env: { PATH: "/bin:/usr/bin" },
  });
  watchdog.unref();
  child.once("exit", () => watchdog.kill("SIGKILL"));
}

/** Not this process's environment: that may hold keys. */
function environment(): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of ["PATH", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR"]) {
    const value = process.env[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}
