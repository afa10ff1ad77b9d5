/**
 * causey on Cloudflare Workers.
 *
 * @module
 */

export { CauseyObject } from "./objects/causey-object.ts";
export { fromEnv, type ConfiguredEnv, type ImportedParts } from "./from-env.ts";
export { workersPlatform, type WorkersPlatformOptions } from "./platform.ts";
export { worker, type WorkerBuild, type WorkerHandler, type WorkerOptions } from "./worker.ts";
export type { FetchBinding, ObjectId, ObjectNamespace, WorkerEnv } from "./env/worker-env.ts";
