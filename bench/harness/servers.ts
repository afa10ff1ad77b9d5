import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { atExit } from "./at-exit.ts";
import { type Figure, type Goal, type Round, roundOf, summarise } from "./figure.ts";
import { type Call, type Load, type Reply, sendLoad, sendOne } from "./load.ts";
import type { Options } from "./options.ts";

/** A contestant that runs as a server of its own. */
export interface Contestant {
  readonly name: string;
  readonly goals?: readonly Goal[];
  readonly command: readonly [file: string, ...args: string[]];
  readonly env?: Readonly<Record<string, string>>;
  readonly call: Load["call"];
  readonly perSecond?: number;
  /** What the server needs before the first round. */
  readonly prepare?: (url: URL) => Promise<unknown>;
  /** Refuses, by throwing, an answer that shows that another thing is measured than is meant. */
  readonly check?: (reply: Reply) => void;
  /** What stays open while the server is measured; its result closes it and returns its own figures. */
  readonly attend?: (url: URL) => Promise<() => Readonly<Record<string, number>>>;
}

/** A running child process that has printed its address. */
export interface Running {
  readonly url: URL;
  /** CPU time used so far, µs. */
  cpuMicros(): number;
  rssMb(): number;
  stop(): Promise<void>;
}

/** The binaries of the three runtimes that serve from a process of their own. */
export const runtimes = {
  Node: [process.execPath],
  Deno: ["tools/node_modules/deno/deno", "run", "-A"],
  Bun: ["tools/node_modules/bun/bin/bun.exe"],
} as const satisfies Record<string, readonly [string, ...string[]]>;

/**
 * The least length of the round that is thrown away, in ms: a JIT compiler works beside a loaded server for seconds, and
 * more for a large program than for a small one.
 */
const WARM_UP_MS = 6000;

/** How long a server may take to end after SIGTERM, ms. */
const STOP_MS = 5000;

/** Starts a command and waits until it prints an address of this machine. */
export async function start(
  [file, ...args]: readonly [string, ...string[]],
  env: Readonly<Record<string, string>> = {},
): Promise<Running> {
  const child = spawn(file, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  // Whatever ends the benchmark ends its servers.
  const kill = (): void => void child.kill("SIGKILL");
  const ended = once(child, "exit").finally(atExit(kill));
  let output = "";
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    output += String(chunk);
    const found = /http:\/\/127\.0\.0\.1:\d+(?=\D)/.exec(output);
    if (found === null) continue;
    child.stdout.resume();
    // Whoever starts another process for the work says which.
    const pid = Number(/\bpid (\d+) /.exec(output)?.[1] ?? child.pid);
    return running(child, pid, new URL(found[0]), ended);
  }
  throw new Error(`${file} ended without an address: ${output}`);
}

function running(child: ChildProcess, pid: number, url: URL, ended: Promise<unknown>): Running {
  return {
    url,
    cpuMicros() {
      // Linux counts in ticks of 10 ms, so rounds last seconds. Fields: proc_pid_stat(5).
      const fields = procFile(pid, "stat").split(") ").at(-1)?.split(" ") ?? [];
      return (Number(fields[11]) + Number(fields[12])) * 10_000;
    },
    rssMb: () => (Number(procFile(pid, "statm").split(" ")[1]) * 4096) / 1e6,
    async stop() {
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
      await ended;
      clearTimeout(timer);
    },
  };
}

function procFile(pid: number, name: string): string {
  return readFileSync(`/proc/${pid}/${name}`, "utf8");
}

/**
 * The contestants that `only` asks for, by the workload's title or their own name, and those that their goals refer to.
 */
export function narrowed(
  title: string,
  all: readonly Contestant[],
  only: string | undefined,
): readonly Contestant[] {
  if (only === undefined || title.includes(only)) return all;
  const wanted = all.filter(({ name }) => name.includes(only));
  const others = new Set(wanted.flatMap(({ goals = [] }) => goals.map(({ of }) => of)));
  return all.filter((one) => wanted.includes(one) || others.has(one.name));
}

/** Runs every contestant in turn, round by round, so that drift of the machine hits all alike. */
export async function compareServers(
  bench: string,
  contestants: readonly Contestant[],
  options: Options & { readonly connections: number },
): Promise<Figure[]> {
  const field = contestants.map((one) => ({ ...one, rounds: [] as Round[] }));
  const servers: Running[] = [];
  try {
    for (const { command, env, prepare } of field) {
      const server = await start(command, env);
      servers.push(server);
      await prepare?.(server.url);
    }
    for (let round = -1; round < options.rounds; round++) {
      for (const [n, contestant] of field.entries()) {
        const ms = round < 0 ? Math.max(options.ms, WARM_UP_MS) : options.ms;
        const figures = await measure(servers[n]!, contestant, { ...options, ms }).catch(
          (cause: unknown) => {
            throw new Error(`${contestant.name} failed in round ${round}`, { cause });
          },
        );
        if (round >= 0) contestant.rounds.push(figures);
        else contestant.check?.(await sendOne(servers[n]!.url, contestant.call(0)));
      }
    }
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
  return summarise(bench, field);
}

async function measure(
  server: Running,
  contestant: Contestant,
  options: { readonly connections: number; readonly ms: number },
): Promise<Round> {
  const { call, perSecond, attend } = contestant;
  const leave = await attend?.(server.url);
  const cpu = server.cpuMicros();
  const began = performance.now();
  const load = { call, connections: options.connections, ms: options.ms };
  const latencies = await sendLoad(
    server.url,
    perSecond === undefined ? load : { ...load, perSecond },
  );
  const wallMs = performance.now() - began;
  const cpuMicros = server.cpuMicros() - cpu;
  const extras = leave?.() ?? {};
  return { ...roundOf(latencies, { wallMs, cpuMicros }), "RSS MB": server.rssMb(), ...extras };
}

/** A load that sends the same request again and again. */
export function always(call: Call): Load["call"] {
  return () => call;
}
