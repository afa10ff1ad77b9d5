// Working off what one agent has queued: tasks of `queue()`, events of a webhook source, and events whose handler sets the state,
// which is a FULL commit each. All are stored before the first runs; each has to run once and in order. The goal of the first two: 2,000
// a second.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { CPU, type Figure, type Results, type Round, summarise } from "./harness/figure.ts";
import type { Options } from "./harness/options.ts";
import { runtimes } from "./harness/servers.ts";

const JOBS = 5000;
const MS = "ms/job";

type Runtime = keyof typeof runtimes;
const names: readonly Runtime[] = ["Node", "Deno", "Bun"];
const workloads = { tasks: "tasks", events: "events", states: "events that set the state" };
/** What each disk allows: a state is durable before its handler goes on, so that it costs a FULL commit. */
const boundByDisk = "states";

/** Runs `agents-drain`. */
export async function* bench({ only, rounds: count }: Options): AsyncGenerator<Figure[]> {
  const field = names.filter((name) => only === undefined || name === only);
  for (const [workload, title] of Object.entries(workloads)) {
    const results: (Results & { rounds: Round[] })[] = field.map((name) => ({
      name: `causey on ${name}`,
      goals: workload === boundByDisk ? [] : [{ what: MS, atMost: 1000 / 2000 }],
      rounds: [],
    }));
    for (let round = 0; round < count; round++)
      for (const [index, one] of results.entries())
        one.rounds.push(await drained(field[index]!, workload));
    yield summarise(`agents: ${JOBS} ${title} of one agent`, results);
  }
}

async function drained(name: Runtime, workload: string): Promise<Round> {
  const [command, ...flags] = runtimes[name];
  const script = ["bench/servers/agents-drain.ts", workload, String(JOBS)];
  const { stdout } = await promisify(execFile)(command, [...flags, ...script]);
  const { ms, cpuUs } = JSON.parse(stdout) as { readonly ms: number; readonly cpuUs: number };
  return { "jobs/s": (JOBS * 1000) / ms, [MS]: ms / JOBS, [CPU]: cpuUs / JOBS };
}
