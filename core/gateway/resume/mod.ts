/**
 * Streams that clients can resume after a broken connection.
 *
 * @module
 */
import type { ResumableRunsFactory } from "../entry/resume-run.ts";
import { type ResumeOptions, resumableRuns } from "./runs.ts";

export type { ResumableRunsFactory } from "../entry/resume-run.ts";
export type { ResumeOptions } from "./runs.ts";

/**
 * Keeps streams in memory for clients that lose them (docs/gateway/streams.md). A gateway throws `invalid_options` for
 * options that are not above 0.
 *
 * @example
 * ```ts
 * import { gateway } from "causey/gateway";
 * import { resumableStreams } from "causey/gateway/resume";
 * import { memoryPlatform } from "causey/memory";
 *
 * const platform = await memoryPlatform();
 * const app = gateway({ platform, resume: resumableStreams() });
 * ```
 */
export function resumableStreams(options: ResumeOptions = {}): ResumableRunsFactory {
  return (system) => resumableRuns(options, system);
}
