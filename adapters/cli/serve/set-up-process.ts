import process from "node:process";
import { setFlagsFromString } from "node:v8";

/** The environment variable that Bun reads at its start. */
const BUN_LIMIT = "BUN_CONFIG_MAX_HTTP_REQUESTS";

/**
 * Makes V8 allocate every object in the young generation. By default it allocates types whose objects survived a few
 * collections in the old one, such as those of running requests. Objects they point to then survive too, until the next
 * full collection: up to everything that each request leaves behind, which costs a fifth of its CPU.
 */
const ALL_YOUNG = "--no-allocation-site-pretenuring";

/**
 * Keeps the young generation at 2 x 16 MB. By itself it grows to 2 x 64 MB under load, which is four times all that the
 * server keeps in its heap. V8 reads this once, when it starts.
 */
const LIMIT = "--max-semi-space-size=16";

/**
 * Collects everything when the old generation has grown by a third. By itself V8 waits until it is several times as large
 * as what lives in it. At full load that is a collection every ten seconds, most of it beside the requests. Not on Deno:
 * its streams leave so much in the old generation that they cost a tenth to a fifth more CPU.
 */
const SLOW_GROWTH = "--heap-growing-percent=30";

/** Gives `globalThis.gc`, for {@link collectGarbage}. */
const COLLECTABLE = "--expose-gc";

/**
 * How many regions glibc allocates from (mallopt(3)). By itself it makes up to eight for each core, one thread after the other:
 * what one has given back serves no other thread, and stays.
 */
const REGIONS = "MALLOC_ARENA_MAX";

/** V8's flags for a server, and the part of a flag's name by which one of the same kind is known. */
const flags = [
  [ALL_YOUNG, "allocation-site-pretenuring"],
  [LIMIT, "semi-space-size"],
  [SLOW_GROWTH, "heap-growing-percent"],
  [COLLECTABLE, "expose-gc"],
] as const;

/** Sets up what a runtime takes for a server at its start only; the process becomes itself again with it where that has to be. */
export function setUpProcess(): void {
  liftBunRequestLimit();
  setUpV8Heap();
}

/**
 * Lets Bun's `fetch` have more than 256 requests in flight: the 257th open stream would wait for another one to end. Bun
 * reads the variable once, when it starts, so the process re-executes itself with it set; id, arguments and standard
 * streams stay. A value set by the operator is kept.
 */
function liftBunRequestLimit(): void {
  const { env, execArgv, execPath, argv } = process;
  if (process.versions["bun"] === undefined || process.execve === undefined) return;
  if (process.platform === "win32" || env[BUN_LIMIT] !== undefined) return;
  process.execve(execPath, [execPath, ...execArgv, ...argv.slice(1)], {
    ...env,
    [BUN_LIMIT]: "65336",
  });
}

/**
 * Sets up V8's heap for a server, and glibc's. Node re-executes itself with the flags that it lacks; id, arguments and
 * standard streams stay. Where it cannot (Windows, a child with a channel to its parent), only the settings that work at
 * run time apply. A flag of the same kind (`NODE_OPTIONS=--max-semi-space-size=64`) or a variable set by the operator is
 * kept. Deno can neither re-execute itself nor set a flag at run time (its `setFlagsFromString` does nothing): its start
 * line has all but the third.
 */
function setUpV8Heap(): void {
  const { env, execArgv, execPath, argv, versions } = process;
  // Bun has another engine.
  if (versions["bun"] !== undefined || versions["deno"] !== undefined) return;
  const given = [...execArgv, env["NODE_OPTIONS"] ?? ""].join(" ");
  const lacking = flags.filter(([, kind]) => !given.includes(kind)).map(([flag]) => flag);
  const lacksRegions = process.platform === "linux" && env[REGIONS] === undefined;
  if (lacking.length === 0 && !lacksRegions) return;
  if (mayRestart()) {
    const parameters = [execPath, ...lacking, ...execArgv, ...argv.slice(1)];
    process.execve?.(execPath, parameters, { [REGIONS]: "1", ...env });
  }
  for (const flag of lacking) if (flag !== LIMIT && flag !== COLLECTABLE) setFlagsFromString(flag);
}

/**
 * Gives back what the start left, a fifth of V8's resident memory: V8 itself does not while a process is idle. It takes
 * some 150 ms, so the port opens after it. On Bun it would win nothing.
 */
export function collectGarbage(): void {
  globalThis.gc?.({ type: "major", flavor: "last-resort" });
}

function mayRestart(): boolean {
  return process.platform !== "win32" && process.send === undefined;
}
