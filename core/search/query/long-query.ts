import type { QueryOptions } from "../../ports.ts";
import type { InstanceState } from "../state/instance-state.ts";

/** Below that many chunks FTS5 answers sooner than a thread would. */
const FAST_CHUNKS = 2000;

/** Runs a query on another thread where that is worth it. */
export function longQuery(state: InstanceState): QueryOptions {
  return state.facts().chunks < FAST_CHUNKS ? {} : { long: state.actor };
}
