import { abortAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { Platform } from "../../core/ports.ts";
import { workersPlatform } from "../../adapters/workers/platform.ts";
import type { WorkerEnv } from "../../adapters/workers/env/worker-env.ts";
import type { OpenOptions } from "./open-platform.d.ts";

export { connect, connectLiving, connectMute, evict } from "./worker-socket.ts";

declare global {
  namespace Cloudflare {
    /** The bindings of wrangler.jsonc beside this file. */
    interface Env extends WorkerEnv {}
  }
}

/** Short for tests of silent clients, which send `ping`; no other ones notice. */
const SILENCE_MS = 5000;

/** Opens the platform over the test Worker's Durable Objects: a place is a prefix of their names. */
export function openPlatform(options: OpenOptions = {}): Promise<Platform> {
  const prefix = options.data ?? crypto.randomUUID();
  const { allowHosts = [] } = options;
  const log = (): void => undefined;
  const platform = workersPlatform({
    env,
    prefix,
    log,
    allowHosts,
    alarmBackoffMs: 50,
    silenceMs: SILENCE_MS,
  });
  return Promise.resolve({
    ...platform,
    async close() {
      await platform.close();
      // As at a restart: nothing that an object holds in memory is there afterwards. Eviction would wait half a
      // second for what an object still has under way, such as a stream that a test left open.
      await abortAllDurableObjects();
    },
  });
}
