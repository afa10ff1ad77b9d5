import { join, resolve as resolvePath } from "node:path";
import type { Browser, Log, ProxyLogin, System } from "../../../core/ports.ts";
import {
  findChromium,
  missingBrowserMessage,
  readyChromium,
  type FoundChromium,
} from "./chromium-find.ts";
import { startChromium } from "./chromium-process.ts";
import { reap } from "./chromium-reaper.ts";
import { connectRemote } from "./chromium-remote.ts";
import { superviseChromium } from "./chromium-supervisor.ts";
import { findFonts } from "./fonts.ts";
import { startFailure } from "../../../core/rendering/cdp/start-failure.ts";
import { egressTransport } from "../egress/egress-transport.ts";
import { startEgressProxy, type EgressProxy } from "../egress/egress-proxy.ts";
import type { Resolve } from "../egress/egress-resolve.ts";
import { denoGlobal } from "../work/deno-global.ts";

export interface ChromiumOptions {
  /** The browser to start. @default a known name on PATH, else the npm package `@sparticuz/chromium` */
  readonly executablePath?: string | undefined;
  /** A browser that runs elsewhere (`ws://…`); nothing is started then and its network is not ours to guard. */
  readonly endpoint?: string | undefined;
  /** Hosts that pages may reach although they are not public, see `parseAllowHosts`. @default [] */
  readonly allowHosts?: readonly string[] | undefined;
  /** A private folder for the unpacked browser and its profiles. */
  readonly stateDir: string;
  /** Starts the browser without its own sandbox. @default true for the superuser (it refuses to start otherwise), else false */
  readonly noSandbox?: boolean | undefined;
  /** A browser is replaced after this many connections. @default 100 */
  readonly recycleAfter?: number | undefined;
  /** A browser without connections ends after this time in ms. @default 60000 */
  readonly idleMs?: number | undefined;
  /** @default DNS; the system's resolver for the names of the allow list */
  readonly resolve?: Resolve | undefined;
  readonly log: Log;
  readonly system: System;
}

/** A local or remote Chromium. */
export interface Chromium extends Browser {
  /** Whether there is a browser to use: `true`, or the reason why not. */
  available(): Promise<true | string>;
  /** One line for the start of the server: which browser, from where, with which guards. */
  describe(): Promise<string>;
  /** Unpacks the npm browser ahead of the first request, so that it need not wait about 3 s. */
  prepare(): Promise<void>;
}

/** Makes the browser of Node, Deno and Bun: one Chromium, started on first use behind the egress proxy. */
export function chromium(options: ChromiumOptions): Chromium {
  const { endpoint } = options;
  const browser =
    endpoint === undefined || endpoint === "" ? localChromium(options) : remoteChromium(endpoint);
  return { ...browser, documents: egressTransport(proxyOptions(options)) };
}

function remoteChromium(endpoint: string): Chromium {
  const host = URL.parse(endpoint)?.host ?? "";
  const start = startFailure();
  return {
    connect: ({ signal } = {}) => start.watch(() => connectRemote(endpoint, signal), signal),
    trouble: () => ({ failure: start.failure(), lacks: null }),
    close: async () => undefined,
    // It may hold a token, and everybody may ask why a capability is missing.
    available: async () => (host === "" ? "The address of the remote browser is not a URL" : true),
    describe: async () => `remote Chromium at ${host}, guarded by request interception only`,
    prepare: async () => undefined,
  };
}

function localChromium(options: ChromiumOptions): Chromium {
  const { log, system } = options;
  const stateDir = resolvePath(options.stateDir);
  const runDir = join(stateDir, "chromium-run");
  const noSandbox = options.noSandbox ?? process.getuid?.() === 0;
  let found: Promise<FoundChromium | null> | undefined;
  let proxy: Promise<EgressProxy> | undefined;
  let proxyLogin: ProxyLogin | null = null;
  const start = startFailure();
  const find = (): Promise<FoundChromium | null> =>
    (found ??= findChromium(options.executablePath));
  const fonts = lackingFonts(find);
  const ready = together(async () => readyChromium(await find(), stateDir, options.executablePath));
  const supervisor = superviseChromium({
    recycleAfter: options.recycleAfter ?? 100,
    idleMs: options.idleMs ?? 60_000,
    log,
    launch: async () => {
      const started = system.now();
      const executable = await ready();
      if (proxy === undefined) {
        await reap(runDir);
        if (noSandbox)
          log("warn", "Chromium runs without its sandbox: start the server as an ordinary user");
      }
      proxy ??= startEgressProxy(proxyOptions(options));
      const { port: proxyPort, login } = await proxy;
      proxyLogin = login;
      const browser = await startChromium(executable, runDir, { proxyPort, noSandbox });
      log("debug", "Chromium started", { ms: system.now() - started, sandbox: !noSandbox });
      return browser;
    },
  });
  return {
    guarded: true,
    lasting: true,
    proxyLogin: () => proxyLogin,
    connect: async ({ signal } = {}) => {
      signal?.throwIfAborted();
      const wire = await start.watch(() => supervisor.connect(), signal);
      if (signal?.aborted === true) wire.close();
      signal?.throwIfAborted();
      return wire;
    },
    close: async () => {
      await supervisor.close();
      await (await proxy)?.close();
    },
    trouble: () => ({ failure: start.failure(), lacks: fonts.lacks() }),
    available: async () => availability(await find(), options.executablePath),
    describe: async () =>
      describeLocal(await find(), noSandbox) ?? missingBrowserMessage(options.executablePath),
    prepare: async () => {
      await start.watchPart(ready);
      await fonts.look();
    },
  };
}

function availability(found: FoundChromium | null, asked: string | undefined): true | string {
  return found === null ? missingBrowserMessage(asked) : (runRefusal(found) ?? true);
}

/** Keeps the scripts for which the browser has no fonts, as of the last look. */
function lackingFonts(find: () => Promise<FoundChromium | null>): {
  readonly look: () => Promise<void>;
  readonly lacks: () => string | null;
} {
  let lacks: string | null = null;
  return {
    async look() {
      const { detail, hint } = await findFonts(await find());
      lacks = hint === null ? null : `Fonts: ${detail}. ${hint}`;
    },
    lacks: () => lacks,
  };
}

/** Wraps work so that it is done once for all who ask for it while it is under way. */
function together<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => (running ??= work().finally(() => (running = undefined)));
}

function proxyOptions(options: ChromiumOptions): {
  allowHosts: readonly string[];
  resolve?: Resolve;
} {
  const { allowHosts = [], resolve } = options;
  return { allowHosts, ...(resolve === undefined ? {} : { resolve }) };
}

function describeLocal(found: FoundChromium | null, noSandbox: boolean): string | null {
  if (found === null) return null;
  const what =
    found.kind === "installed"
      ? found.path
      : `@sparticuz/chromium ${found.package.version} (headless shell)`;
  return `${what}, egress guarded${noSandbox ? ", browser sandbox off (superuser or rendering.noSandbox)" : ""}`;
}

/** Says why this process may not start a browser: Deno without the permission. Null where it may. */
function runRefusal(found: FoundChromium): string | null {
  const deno = denoGlobal();
  if (deno === null) return null;
  // Deno refuses a list of programs where one gets its libraries from us.
  const isListed = found.kind === "installed";
  const asked = { name: "run", ...(isListed && { command: found.path }) } as const;
  if (deno.permissions.querySync(asked).state === "granted") return null;
  return `Deno may not start the browser: add --allow-run${isListed ? `=${found.path}` : ""}`;
}
