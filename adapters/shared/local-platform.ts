import { AsyncLocalStorage } from "node:async_hooks";
import process from "node:process";
import { bodyBudget } from "../../core/work/body-budget.ts";
import type { Config } from "../../core/config/config.ts";
import type {
  Actors,
  Browser,
  Capability,
  Log,
  Platform,
  Transport,
  Vitals,
} from "../../core/ports.ts";
import { chromium } from "./chromium/chromium.ts";
import { processesAvailable } from "./background/process-isolate.ts";
import { type Threads, threads } from "./background/threads.ts";
import { openDataDir, openStateDir } from "./data-dir.ts";
import { closeAtEnd, endServing } from "./http/drain.ts";
import { egressTransport } from "./egress/egress-transport.ts";
import { filteredLog } from "./log/line-filter.ts";
import { jsonLog, standardError } from "./log/standard-log.ts";
import { defaultBodyBytes } from "./work/memory-limit.ts";
import type { ClusterSettings } from "../postgres/slots/cluster-settings.ts";
import type { PostgresActors } from "../postgres/slots/postgres-actors.ts";
import type { SharedActors } from "../processes/owned-actors.ts";
import { protocolOf } from "../processes/owner-connection.ts";
import { sharedActors } from "../processes/shared-actors.ts";
import type { Upgrade } from "./sockets/sockets.ts";
import { syncCrypto } from "./sync-crypto.ts";
import { localSystem, type LocalSystem } from "./system.ts";
import { turnOrSleep } from "./work/turn-or-sleep.ts";
import { webSockets } from "./sockets/web-sockets.ts";
import { webSocketDialler } from "./egress/dial.ts";
import { zlibDecoder } from "./http/zlib-decoder.ts";

/** Options of `nodePlatform()`, `denoPlatform()` and `bunPlatform()`. */
export interface LocalPlatformOptions {
  /**
   * A checked configuration, from `parseConfig()`. Its settings of folder, database, browser, log and reachable hosts hold
   * unless an option here replaces them. @default none
   */
  readonly config?: Config;
  /**
   * Folder of the database, created if missing; `":memory:"` stores nothing. Processes of one runtime may share a folder:
   * the first one owns its lock, the others call the actors there, and one of them takes over when the owner ends. Start
   * all of them with the same options and the same app. @default ".causey"
   */
  readonly dataDir?: string;
  /**
   * Address of a PostgreSQL database, version 14 or newer, that holds the state instead: `postgres://user:password@host/name`.
   * It needs the package `postgres`. The folder is then for the browser only. Processes that share a database, on one machine or
   * many and of any runtime, divide the actors among themselves and call each other: start them with the same options and the
   * same app. @default the SQLite database in the folder
   */
  readonly database?: string;
  /** How the processes that share a database call each other. */
  readonly cluster?: ClusterSettings;
  /** `FULL`: acknowledged writes survive a power cut; `NORMAL`: they survive the death of the process. @default "FULL" */
  readonly synchronous?: "FULL" | "NORMAL";
  /** Path of a Chromium or headless shell. @default the browser on PATH, else the one from npm */
  readonly chromiumPath?: string;
  /** A running browser instead, e.g. `ws://127.0.0.1:9222/devtools/browser/…`. @default none */
  readonly browserEndpoint?: string;
  /** Runs the browser without its own sandbox. @default only as the superuser */
  readonly noSandbox?: boolean;
  /** Hosts that deliveries (and other callers of `egress`) may reach although they are not public. @default [] */
  readonly allowHosts?: readonly string[];
  /** Hosts that pages in the browser may reach although they are not public. @default allowHosts */
  readonly browserAllowHosts?: readonly string[];
  /** Takes log entries. @default one JSON line per entry on standard error */
  readonly log?: Log;
  /** How long `close()` waits for running work, in ms. @default 10000 */
  readonly closeGraceMs?: number;
  /** Bytes that request bodies may take in memory at once. @default a quarter of the machine's memory */
  readonly bodyBytes?: number;
  /** How long an unused actor stays in memory, in ms. @default 60000 */
  readonly actorIdleMs?: number;
  /** First delay before a failed alarm runs again, in ms. @default 1000 */
  readonly alarmBackoffMs?: number;
}

/** The parts that differ between the three runtimes. */
export interface LocalRuntime {
  readonly name: "node" | "deno" | "bun";
  readonly upgrade: Upgrade;
  readonly transport: Transport;
  readonly received?: NonNullable<Platform["received"]>;
  readonly clientAddress: NonNullable<Platform["clientAddress"]>;
  close?(): Promise<void>;
}

/** Puts a platform together from what the runtimes share and what one of them brings. */
export async function localPlatform(
  runtime: LocalRuntime,
  { config, ...own }: LocalPlatformOptions,
): Promise<Platform> {
  const options = config === undefined ? own : { ...configured(config), ...own };
  const { allowHosts, closeGraceMs = 10_000 } = options;
  const { log, setNode } = logOfNode(options.log ?? jsonLog);
  const plain = localSystem(log);
  const system: LocalSystem = {
    ...plain,
    ...syncCrypto,
    decoder: zlibDecoder,
    asyncLocal: new AsyncLocalStorage<unknown>(),
    sleep: turnOrSleep(plain),
  };
  const { actors, stateDir } = await openActors(runtime, options, { system, log });
  setNode(actors.nodes?.own);
  void actors.nodes?.refused.then(endServing);
  const browser = chromium({
    stateDir,
    executablePath: options.chromiumPath,
    endpoint: options.browserEndpoint,
    noSandbox: options.noSandbox,
    allowHosts: options.browserAllowHosts ?? allowHosts,
    log,
    system,
  });
  const background = threads({ system, log });
  const parts = { actors, background, browser, runtime, system };
  let closing: Promise<void> | undefined;
  const platform: Platform = {
    runtime: runtime.name,
    capabilities: capabilities(await browser.available()),
    actors,
    transport: runtime.transport,
    egress: egressTransport(allowHosts === undefined ? {} : { allowHosts }),
    webSockets: webSockets({
      upgrade: runtime.upgrade,
      // Bun brings a `ws` of its own.
      dial: webSocketDialler({ allowHosts, passesProxy: runtime.name === "bun" }),
      system,
    }),
    browser,
    system,
    background,
    log,
    vitals,
    bodies: bodyBudget(options.bodyBytes ?? defaultBodyBytes()),
    ...requestsOf(runtime),
    close: () => (closing ??= closeParts(parts, closeGraceMs).finally(forget)),
  };
  const forget = closeAtEnd(platform, () => {
    system.end();
  });
  return platform;
}

/** The options that a checked configuration stands for: where the state is, the browser, what may be reached, the log. */
function configured(config: Config): LocalPlatformOptions {
  const { bodyBytes, cluster, database, dataDir, graceMs, synchronous } = config;
  const { rendering: pages = {}, webhooks } = config;
  return {
    log: filteredLog(jsonLog, config),
    // Apart, so that a page cannot reach what only deliveries may.
    allowHosts: webhooks?.allowHosts ?? [],
    browserAllowHosts: pages.allowHosts ?? [],
    ...(bodyBytes !== undefined && { bodyBytes }),
    ...(cluster !== undefined && { cluster }),
    ...(database !== undefined && { database }),
    ...(dataDir !== undefined && { dataDir }),
    ...(graceMs !== undefined && { closeGraceMs: graceMs }),
    ...(synchronous !== undefined && { synchronous }),
    ...(pages.chromiumPath !== undefined && { chromiumPath: pages.chromiumPath }),
    ...(pages.endpoint !== undefined && { browserEndpoint: pages.endpoint }),
    ...(pages.noSandbox !== undefined && { noSandbox: pages.noSandbox }),
  };
}

type PlatformActors = (PostgresActors | SharedActors) & Pick<Actors, "nodes">;

/** Names the server in each line of the log, once it is one of several. */
function logOfNode(log: Log): {
  readonly log: Log;
  readonly setNode: (address: string | undefined) => void;
} {
  let node: string | undefined;
  return {
    log: (level, message, fields) =>
      node === undefined ? log(level, message, fields) : log(level, message, { ...fields, node }),
    setNode: (address) => {
      node = address;
    },
  };
}

/** Opens the actors where the options say, and names the folder for what else is kept. */
async function openActors(
  { name, upgrade }: LocalRuntime,
  { cluster, database, dataDir = ".causey", synchronous, ...options }: LocalPlatformOptions,
  services: Pick<Platform, "log" | "system">,
): Promise<{ readonly actors: PlatformActors; readonly stateDir: string }> {
  const shared = {
    ...services,
    upgrade,
    idleMs: options.actorIdleMs,
    alarmBackoffMs: options.alarmBackoffMs,
  };
  if (database === undefined) {
    const folder = openDataDir(dataDir);
    const actors = await sharedActors({ ...shared, folder, speaks: protocolOf(name), synchronous });
    return { actors, stateDir: folder.state };
  }
  const state = openStateDir(dataDir);
  const { postgresActors } = await import("../postgres/slots/postgres-actors.ts");
  const actors = await postgresActors({ ...shared, database, cluster, stateDir: state.path });
  return {
    actors: {
      ...actors,
      async release() {
        await actors.release();
        state.release();
      },
    },
    stateDir: state.path,
  };
}

/** Returns facts about a request that only the runtime's own server knows. */
function requestsOf({
  received,
  clientAddress,
}: LocalRuntime): Pick<Platform, "received" | "clientAddress"> {
  return received === undefined ? { clientAddress } : { received, clientAddress };
}

function vitals(): Vitals {
  const { user, system } = process.cpuUsage();
  return {
    cpuSeconds: (user + system) / 1e6,
    residentBytes: process.memoryUsage().rss,
    startedAt: Math.round(Date.now() - process.uptime() * 1000),
    droppedLines: standardError.dropped(),
  };
}

function capabilities(browser: true | string): Record<Capability, true | string> {
  return {
    actors: true,
    browser,
    "client-abort": true,
    "egress-pinning": true,
    "file-limits": processesAvailable(),
    "raw-framing": true,
    sockets: true,
    transport: true,
  };
}

interface Parts {
  readonly actors: PlatformActors;
  readonly background: Threads;
  readonly browser: Browser;
  readonly runtime: LocalRuntime;
  readonly system: LocalSystem;
}

async function closeParts(parts: Parts, graceMs: number): Promise<void> {
  parts.system.end();
  // Background work may still call actors (a gateway's last log rows), so it settles before they close.
  await parts.system.settled(graceMs);
  await parts.actors.close(graceMs);
  await parts.system.settled(graceMs);
  await Promise.all([
    parts.background.close(),
    parts.browser.close(),
    parts.runtime.close?.(),
    parts.actors.release(),
  ]);
}
