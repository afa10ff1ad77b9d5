import type { ExecutionContext, Hono } from "hono";
import { platformApi } from "../../core/api.ts";
import type { PlatformApiOptions } from "../../core/config/platform-api-options.ts";
import type { Platform } from "../../core/ports.ts";
import { workersPlatform, type WorkersPlatformOptions } from "./platform.ts";
import { setBuilder } from "./objects/registry.ts";
import type { WorkerEnv } from "./env/worker-env.ts";
import { underWay } from "./env/worker-system.ts";

/** Options of {@link worker}: those of `platformApi()`, and what the platform itself takes. */
export interface WorkerOptions extends Omit<PlatformApiOptions, "platform"> {
  /** Options of `workersPlatform()`. @default {} */
  readonly workers?: Omit<WorkersPlatformOptions, "env">;
}

/** Builds a Hono app of your own instead of the whole platform API. */
export interface WorkerBuild<Env> {
  readonly build: (platform: Platform, env: Env) => Hono;
  /** Options of `workersPlatform()`. @default {} */
  readonly workers?: Omit<WorkersPlatformOptions, "env">;
}

/** The default export of a Worker's main module. */
export interface WorkerHandler {
  fetch(request: Request, env: WorkerEnv, ctx: ExecutionContext): Promise<Response>;
}

/**
 * Makes a Worker that serves the platform API, or with `build` a Hono app of your own. The options may be a function of the
 * bindings. Call it at the top level of the main module: the app is built once per isolate, also if a Durable Object wakes
 * first.
 *
 * @example
 * ```ts
 * import { gateway } from "causey/gateway";
 * import { worker } from "causey/workers";
 * import { Hono } from "hono";
 * export { CauseyObject } from "causey/workers";
 *
 * export default worker({
 *   build: (platform) => new Hono().route("/", gateway({ platform, demo: true })),
 * });
 * ```
 */
export function worker<Env extends WorkerEnv = WorkerEnv>(
  options: WorkerOptions | WorkerBuild<Env> | ((env: Env) => WorkerOptions | WorkerBuild<Env>) = {},
): WorkerHandler {
  let app: Hono | undefined;
  const appOf = (env: WorkerEnv): Hono => (app ??= buildApp(options, env as Env));
  setBuilder(appOf);
  return {
    async fetch(request, env, ctx) {
      const answer = Promise.resolve(appOf(env).fetch(request, env, ctx));
      // A client that leaves ends the request's context, and with it every `finally` that frees something.
      ctx.waitUntil(answer.catch(() => undefined));
      underWay(answer);
      return answer;
    },
  };
}

function buildApp<Env extends WorkerEnv>(
  options: WorkerOptions | WorkerBuild<Env> | ((env: Env) => WorkerOptions | WorkerBuild<Env>),
  env: Env,
): Hono {
  const settled = typeof options === "function" ? options(env) : options;
  const platform = workersPlatform({ ...settled.workers, env });
  return "build" in settled ? settled.build(platform, env) : platformApi({ ...settled, platform });
}
