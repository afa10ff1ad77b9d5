import { stepwise } from "../../core/work/background.ts";
import { bodyBudget } from "../../core/work/body-budget.ts";
import type { WebSockets } from "../../core/net/duplex.ts";
import { ApiError } from "../../core/http/api-error.ts";
import type {
  AsyncLocal,
  Browser,
  Capability,
  Log,
  Platform,
  Wire,
  Transport,
} from "../../core/ports.ts";
import { localActors } from "../shared/actors/local-actors.ts";
import { connectRemote } from "../shared/chromium/chromium-remote.ts";
import { urlGuard } from "../shared/egress/url-guard.ts";
import { webSockets } from "../shared/sockets/web-sockets.ts";
import { journal } from "../shared/sqlite/sqlite.ts";
import { sqliteStore } from "../shared/sqlite/sqlite-store.ts";
import { localSystem } from "../shared/system.ts";
import { checkedTransport, RESOLVED_APART, targetCheck, MEMORY_UNPINNED } from "./egress.ts";
import {
  type AcceptWebSocket,
  checkedDial,
  NO_UPGRADE,
  standardDial,
  standardUpgrade,
} from "./sockets.ts";
import { loadSqlite, startSqlite } from "./sqlite-wasm.ts";
import { openWasmSqlite } from "./wasm-sqlite.ts";
import { fetchTransport, type Send } from "../shared/http/fetch-transport.ts";

const MEBI = 1024 * 1024;

/** The reason why page rendering is off without an endpoint. */
const NO_BROWSER =
  "memoryPlatform() starts no browser: pass browserEndpoint, the ws:// address of a running one";

const warnings: Log = (level, message, fields) => {
  if (level === "warn" || level === "error") console[level](message, fields ?? {});
};

/** Options of {@link memoryPlatform}. */
export interface MemoryPlatformOptions {
  /**
   * The compiled SQLite (a `WebAssembly.Module`), for runtimes that cannot compile at run time: `import sqlite from
   * "@sqlite.org/sqlite-wasm/sqlite3.wasm"`. @default the module of the package
   */
  readonly sqlite?: object;
  /** Largest size of the database in bytes; a write that does not fit is a 503, as on a full disk. @default 64 MiB */
  readonly databaseBytes?: number;
  /** Sends the requests of `transport` and `egress`. @default the runtime's `fetch` */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** Hosts that deliveries (and other callers of `egress`) may reach although they are not public. @default [] */
  readonly allowHosts?: readonly string[];
  /** Lists the addresses of a name, so that `egress` can refuse names of addresses that are not public. @default none */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
  /** Upgrades a request of the host's server, e.g. `Deno.upgradeWebSocket`. @default WebSockets are answered 503 */
  readonly acceptWebSocket?: AcceptWebSocket;
  /** Opens a WebSocket to another server, with headers; addresses that callers choose are checked before. @default the standard client, which sends no headers */
  readonly dialWebSocket?: WebSockets["dial"];
  /** A running browser, e.g. `ws://127.0.0.1:9222/devtools/browser/…`. @default none */
  readonly browserEndpoint?: string;
  /** Takes log entries. @default warnings and errors go to the console */
  readonly log?: Log;
  /** How long `close()` waits for running work, in ms. @default 10000 */
  readonly closeGraceMs?: number;
  /** Bytes that request bodies may take in memory at once. @default 32 MiB */
  readonly bodyBytes?: number;
  /** How long an unused actor stays in memory, in ms. @default 60000 */
  readonly actorIdleMs?: number;
  /** First delay before a failed alarm runs again, in ms; it doubles up to 60 s. @default 1000 */
  readonly alarmBackoffMs?: number;
  /** A `new AsyncLocalStorage()` of the runtime, for `getCurrentAgent()`. @default none */
  readonly asyncLocalStorage?: AsyncLocal;
}

/**
 * Makes a platform that keeps everything in memory and uses Web standards only: for tests, and for runtimes that have no
 * adapter. Closing it deletes everything. Needs the package `@sqlite.org/sqlite-wasm`.
 *
 * @example
 * ```ts
 * import { platformApi } from "causey";
 * import { memoryPlatform } from "causey/memory";
 *
 * const platform = await memoryPlatform();
 * const app = platformApi({ platform });
 * (await app.request("/healthz")).status; // → 200
 * await platform.close();
 * ```
 */
export async function memoryPlatform(options: MemoryPlatformOptions = {}): Promise<Platform> {
  const { allowHosts = [], closeGraceMs = 10_000, log = warnings, resolve } = options;
  const system = { ...localSystem(log), asyncLocal: options.asyncLocalStorage };
  const databaseBytes = options.databaseBytes ?? 64 * MEBI;
  const sqlite =
    options.sqlite === undefined
      ? await loadSqlite()
      : // Twice: what a transaction changes is kept as it was until it is over.
        await startSqlite(options.sqlite, 2 * databaseBytes);
  const opened = openWasmSqlite(sqlite, databaseBytes);
  const committing = { syncs: false, nextTurn: fairTurns(() => system.monotonic()) };
  const db = journal(opened, committing, { log });
  const upgrade = standardUpgrade(options.acceptWebSocket);
  const actors = localActors({
    store: sqliteStore({ db, system, log }),
    system,
    log,
    upgrade,
    idleMs: options.actorIdleMs,
    alarmBackoffMs: options.alarmBackoffMs,
  });
  const transport = standardTransport(options.fetch);
  const browser = remoteBrowser(options.browserEndpoint);
  const close = async (): Promise<void> => {
    system.end();
    await system.settled(closeGraceMs);
    await actors.close(closeGraceMs);
    await system.settled(closeGraceMs);
    await Promise.all([browser.close(), db.close()]);
  };
  let closing: Promise<void> | undefined;
  return {
    runtime: "memory",
    capabilities: capabilities(options),
    actors,
    transport,
    egress: checkedTransport(transport, allowHosts, resolve),
    webSockets: webSockets({
      upgrade,
      dial: checkedDial(
        options.dialWebSocket ?? standardDial,
        targetCheck(urlGuard(allowHosts), resolve),
      ),
      system,
    }),
    browser,
    system,
    background: stepwise(system),
    log,
    bodies: bodyBudget(options.bodyBytes ?? 32 * MEBI),
    close: () => (closing ??= close()),
  };
}

function capabilities(options: MemoryPlatformOptions): Record<Capability, true | string> {
  const { acceptWebSocket, browserEndpoint = "", resolve } = options;
  return {
    actors: true,
    browser: browserEndpoint === "" ? NO_BROWSER : true,
    "client-abort": "Whether a client that leaves is noticed at once is up to the host's server",
    "egress-pinning": resolve === undefined ? MEMORY_UNPINNED : RESOLVED_APART,
    "file-limits":
      "The host's process is the only one: files are read in steps, and what they unpack to is counted",
    "raw-framing": "The host's server settles two kinds of framing before causey sees the request",
    sockets: acceptWebSocket === undefined ? NO_UPGRADE : true,
    transport: true,
  };
}

/** Connects to a browser that runs elsewhere; its network is not ours to guard. */
function remoteBrowser(endpoint = ""): Browser {
  const wires = new Set<Wire>();
  return {
    async connect({ signal } = {}) {
      if (endpoint === "") throw new ApiError("missing_capability", { message: NO_BROWSER });
      const wire = await connectRemote(endpoint, signal);
      wires.add(wire);
      wire.onClose(() => wires.delete(wire));
      return wire;
    },
    async close() {
      for (const wire of wires) wire.close();
    },
  };
}

/** How long work may follow work before others get a turn, in ms. */
const SLICE_MS = 5;

/**
 * Runs work right behind the current task, and every few milliseconds only after others had their turn: a caller that waits
 * for one commit after the other must not keep the event loop to itself.
 */
function fairTurns(now: () => number): (work: () => void) => void {
  let since = now();
  return (work) => {
    if (now() - since < SLICE_MS) {
      queueMicrotask(work);
      return;
    }
    setTimeout(() => {
      since = now();
      work();
    }, 0);
  };
}

/** The encodings that the Fetch standard has every implementation decode, and the one that was added later. */
const STANDARD = /^(?:x-)?gzip$|^deflate$|^br$|^zstd$/iu;

/**
 * The encodings that `fetch` decodes, by the runtime's name in `navigator.userAgent`
 * (https://min-common-api.proposal.wintertc.org): no runtime says so on the answer itself.
 */
const BY_RUNTIME: readonly (readonly [runtime: RegExp, decodes: (encoding: string) => boolean])[] =
  [
    [/^Cloudflare-Workers/u, (encoding) => encoding === "gzip" || encoding === "br"],
    [/^Deno\//u, (encoding) => /^(?:gzip|br)$/iu.test(encoding)],
    [/^Bun\//u, (encoding) => STANDARD.test(encoding)],
  ];

/** Whether any other runtime decodes the encoding; lists of encodings too. */
function asStandard(encoding: string): boolean {
  return encoding.split(",").every((one) => STANDARD.test(one.trim()));
}

/** Makes a transport over the runtime's `fetch`, or one that is handed in. */
function standardTransport(send: Send = (request) => fetch(request)): Transport {
  // Not every runtime has one.
  const navigator: { readonly userAgent?: string } | undefined = globalThis.navigator;
  const known = BY_RUNTIME.find(([runtime]) => runtime.test(navigator?.userAgent ?? ""));
  return fetchTransport({ send, decodes: known?.[1] ?? asStandard });
}
