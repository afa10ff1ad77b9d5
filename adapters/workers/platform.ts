import { stepwise } from "../../core/work/background.ts";
import { bodyBudget } from "../../core/work/body-budget.ts";
import type { AsyncLocal, Log, Platform } from "../../core/ports.ts";
import { boundBrowser, missingBrowser, NO_BROWSER } from "./browser-binding.ts";
import { guardedSend, guardedTransport, WORKERS_UNPINNED } from "./egress.ts";
import { workerTransport } from "./fetch-transport.ts";
import { closeAllSockets, objectActors } from "./objects/object-actors.ts";
import { closeSpace, openSpace } from "./objects/registry.ts";
import { workerWebSockets } from "./web-sockets.ts";
import type { WorkerEnv } from "./env/worker-env.ts";
import { consoleLog, workerSystem } from "./env/worker-system.ts";

/** Bytes of an isolate: https://developers.cloudflare.com/workers/platform/limits/ */
const ISOLATE_BYTES = 128 * 1024 * 1024;

/**
 * workerd on its own tells the peer as `cf.clientIp`, with its port; on the hosted platform its edge sets the header,
 * whatever clients send.
 */
function clientAddress(request: Request): string | null {
  const { cf } = request as Request & { readonly cf?: { readonly clientIp?: unknown } };
  if (typeof cf?.clientIp === "string") return cf.clientIp;
  return request.headers.get("cf-connecting-ip");
}

/** Options of {@link workersPlatform}. */
export interface WorkersPlatformOptions {
  readonly env: WorkerEnv;
  /** Hosts that callers may reach although they are not public, see `parseAllowHosts`. @default [] */
  readonly allowHosts?: readonly string[];
  /** Separates the objects of several platforms in one namespace. @default "" */
  readonly prefix?: string;
  /** Takes log entries. @default JSON lines on the console */
  readonly log?: Log;
  /** Bytes that request bodies may take in an isolate's memory at once. @default 32 MiB, a quarter of the isolate's memory */
  readonly bodyBytes?: number;
  /** First delay before a failed alarm runs again, in ms; it doubles up to 60 s. @default 1000 */
  readonly alarmBackoffMs?: number;
  /**
   * Milliseconds between two checks of WebSockets whose clients send `ping`; a client that was silent for two checks loses its
   * connection. @default 30,000
   */
  readonly silenceMs?: number;
  /**
   * A `new AsyncLocalStorage()` of `node:async_hooks`, for `getCurrentAgent()`; needs the compatibility flag `nodejs_als`.
   * @default none
   */
  readonly asyncLocalStorage?: AsyncLocal;
}

/**
 * Makes the platform on Cloudflare Workers: an actor is a SQLite Durable Object, the browser is the browser binding. Make it
 * once per isolate, as `worker()` does.
 *
 * @example
 * ```ts
 * import { platformApi } from "causey";
 * import { type WorkerEnv, workersPlatform } from "causey/workers";
 *
 * let app: ReturnType<typeof platformApi> | undefined;
 * export const fetchIn = (env: WorkerEnv, request: Request) => {
 *   app ??= platformApi({ platform: workersPlatform({ env }) });
 *   return app.fetch(request);
 * };
 * ```
 */
export function workersPlatform(options: WorkersPlatformOptions): Platform {
  const { env, allowHosts = [], prefix = "", log = consoleLog } = options;
  const { asyncLocalStorage: asyncLocal } = options;
  const system = { ...workerSystem(log), asyncLocal };
  const alarmBackoffMs = options.alarmBackoffMs ?? 1000;
  const { writes } = openSpace(prefix, {
    log,
    alarmBackoffMs,
    asyncLocal,
    lookMs: options.silenceMs,
  });
  return {
    runtime: "workers",
    capabilities: {
      actors: true,
      browser: env.BROWSER === undefined ? NO_BROWSER : true,
      "client-abort": "workerd notices a client that closed its connection only at its next write",
      "file-limits":
        "An isolate has one heap: files are read in steps, and what they unpack to is counted",
      "raw-framing": "workerd settles two kinds of framing before a Worker sees the request",
      "egress-pinning": env.CAUSEY_EGRESS === undefined ? WORKERS_UNPINNED : true,
      sockets: true,
      transport: true,
    },
    actors: objectActors(env.CAUSEY, prefix, writes),
    transport: workerTransport(),
    egress: guardedTransport(allowHosts, env.CAUSEY_EGRESS),
    webSockets: workerWebSockets(system, guardedSend(allowHosts, env.CAUSEY_EGRESS)),
    browser: env.BROWSER === undefined ? missingBrowser : boundBrowser(env.BROWSER, system),
    system,
    background: stepwise(system),
    log,
    bodies: bodyBudget(options.bodyBytes ?? ISOLATE_BYTES / 4),
    clientAddress,
    async close() {
      // Durable Objects flush by themselves; this isolate knows which of them hold sockets.
      await closeAllSockets(env.CAUSEY, prefix, system);
      closeSpace(prefix);
    },
  };
}
