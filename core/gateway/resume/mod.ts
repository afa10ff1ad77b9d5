/**
 * Streams that clients take up again when they broke off on the way to them.
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
 * import { resumableStreams } from "causey/gateway/resume";
 *
 * app.route("/", gateway({ platform, resume: resumableStreams() }));
 * ```
 */
export function resumableStreams(options: ResumeOptions = {}): ResumableRunsFactory {
  return (system) => resumableRuns(options, system);
}
