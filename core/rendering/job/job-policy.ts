import { type AllowHosts, parseAllowHosts } from "../../net/allow-hosts.ts";
import type { TimerCaps } from "../input/timers.ts";
import type { RenderingOptions } from "./options.ts";

/** The operator's rules for jobs. */
export interface JobPolicy {
  readonly allow: AllowHosts;
  readonly caps: TimerCaps;
  readonly unsafeRegex: boolean;
}

/** Reads the rules for jobs from the operator's options. */
export function jobPolicy(options: RenderingOptions): JobPolicy {
  return {
    allow: parseAllowHosts(options.allowHosts),
    caps: options.timeouts ?? {},
    unsafeRegex: options.unsafeRegex === true,
  };
}
