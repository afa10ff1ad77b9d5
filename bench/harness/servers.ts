import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { atExit } from "./at-exit.ts";
import {
  type Figure,
  type Goal,
  percentile,
  type Results,
  type Round,
  roundOf,
  summarise,
} from "./figure.ts";
import { type Call, type Load, type Reply, sendLoad, sendOne, type Timings } from "./load.ts";
import type { Options } from "./options.ts";

/** A contestant that runs as a server of its own. */
export interface Contestant {
  readonly name: string;
  readonly goals?: readonly Goal[];
  readonly command: readonly [file: string, ...args: string[]];
  readonly env?: Readonly<Record<string, string>>;
  /** Where the command runs. @default the project's folder */
  readonly cwd?: string;
  readonly call: Load["call"];
  readonly perSecond?: number;
  /** The preparation of the server before the first round. */
  readonly prepare?: (url: URL) => Promise<unknown>;
  /** Refuses, by throwing, an answer that shows that another thing is measured than is meant. */
  readonly check?: (reply: Reply, url: URL) => unknown;
  /** What stays open while the server is measured; its result closes it and returns its own figures. */
  readonly attend?: (url: URL) => Promise<() => Round | Promise<Round>>;
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
 * What is sent before the first round: a JIT compiler works beside a loaded server for seconds, and more for a large
 * program than for a small one. Several times less, because V8 gives memory and compiled code back after a minute
 * without work, which is as long as it takes to warm up all the others; the second after that costs four times as much.
 */
const WARM_UPS = 3;
const WARM_UP_MS = 2000;

/** What is sent before each round, for what the pause since the last one has undone. */
const LEAD_IN_MS = 500;

/** The least connections of a warm-up: at one connection a slow server sees too few requests to be compiled. */
const WARM_UP_CONNECTIONS = 16;

/** Milliseconds to the first byte of a body: half of the requests, and all but one of a hundred, had it by then. */
export const FIRST_BYTE: readonly [p50: string, p99: string] = [
  "first byte p50 ms",
  "first byte p99 ms",
];

/** How long a server may take to end after SIGTERM, ms. */
const STOP_MS = 5000;

/** Starts a command, in a folder if one is given, and waits until it prints an address of this machine. */
export async function start(
  [file, ...args]: readonly [string, ...string[]],
  env: Readonly<Record<string, string>> = {},
  cwd: string = process.cwd(),
): Promise<Running> {
  const child = spawn(resolve(file), args, {
    cwd,
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

/** How {@link measureServers} measures. */
export interface ServerOptions
  extends Pick<Options, "rounds" | "ms">, Partial<Pick<Options, "against">> {
  readonly connections: number;
  /** Whether {@link FIRST_BYTE} is told: where answers are streams. @default false */
  readonly firstByte?: boolean;
}

/** The medians of {@link measureServers}. */
export async function compareServers(
  bench: string,
  contestants: readonly Contestant[],
  options: ServerOptions,
): Promise<Figure[]> {
  return summarise(bench, await measureServers(contestants, options));
}

/** Runs every contestant in turn, round by round, so that drift of the machine hits all alike. */
export async function measureServers(
  contestants: readonly Contestant[],
  { rounds, ms, connections, firstByte = false, against }: ServerOptions,
): Promise<Results[]> {
  const field = contestants
    .flatMap((one) => withOther(one, against))
    .map((one) => ({ ...one, rounds: [] as Round[] }));
  const servers: Running[] = [];
  try {
    for (const { command, env, cwd, prepare } of field) {
      const server = await start(command, env, cwd);
      servers.push(server);
      await prepare?.(server.url);
    }
    for (let pass = 0; pass < WARM_UPS; pass++) {
      for (const [n, one] of field.entries()) {
        const most = Math.max(connections, WARM_UP_CONNECTIONS);
        await send(servers[n]!, one, most, WARM_UP_MS).catch(fail(one, "the warm-up"));
      }
    }
    for (const [n, one] of field.entries()) {
      const { url } = servers[n]!;
      await one.check?.(await sendOne(url, one.call(0)), url);
    }
    for (let round = 1; round <= rounds; round++) {
      for (const [n, one] of field.entries()) {
        const failed = fail(one, `round ${round}`);
        await send(servers[n]!, one, connections, LEAD_IN_MS).catch(failed);
        const figures = measure(servers[n]!, one, { ms, connections, firstByte });
        one.rounds.push(await figures.catch(failed));
      }
    }
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
  return field;
}

/** A causey beside the one that another folder holds: the same runtime and settings, a data folder of its own. */
function withOther(one: Contestant, folder: string | undefined): Contestant[] {
  const at = one.command.indexOf("--data-dir") + 1;
  if (folder === undefined || at === 0) return [one];
  const [file, ...args] = one.command;
  args[at - 1] += "-other";
  const other = { ...one, name: `${one.name}, other version`, goals: [] };
  const goal = { of: other.name, atMost: 1.1 };
  return [
    { ...one, goals: [...(one.goals ?? []), goal] },
    { ...other, command: [file, ...args], cwd: folder },
  ];
}

function fail({ name }: Contestant, when: string): (cause: unknown) => never {
  return (cause) => {
    throw new Error(`${name} failed in ${when}`, { cause });
  };
}

function send(
  { url }: Running,
  { call, perSecond }: Contestant,
  connections: number,
  ms: number,
): Promise<Timings> {
  return sendLoad(url, {
    call,
    connections,
    ms,
    ...(perSecond === undefined ? {} : { perSecond }),
  });
}

async function measure(
  server: Running,
  contestant: Contestant,
  options: Omit<Required<ServerOptions>, "rounds" | "against">,
): Promise<Round> {
  const leave = await contestant.attend?.(server.url);
  const cpu = server.cpuMicros();
  const began = performance.now();
  const { whole, firstByte } = await send(server, contestant, options.connections, options.ms);
  const wallMs = performance.now() - began;
  const cpuMicros = server.cpuMicros() - cpu;
  const extras = (await leave?.()) ?? {};
  return {
    ...roundOf(whole, { wallMs, cpuMicros }),
    ...(options.firstByte ? firstBytes(firstByte) : {}),
    "RSS MB": server.rssMb(),
    ...extras,
  };
}

function firstBytes(waits: readonly number[]): Round {
  const sorted = waits.toSorted((a, b) => a - b);
  const [p50, p99] = FIRST_BYTE;
  return { [p50]: percentile(sorted, 0.5), [p99]: percentile(sorted, 0.99) };
}

/** The contestant with the standard error of its server going to /dev/null. */
export function silent(contestant: Contestant): Contestant {
  const command = ["/bin/sh", "-c", 'exec "$0" "$@" 2>/dev/null', ...contestant.command] as const;
  return { ...contestant, command };
}

/** A load that sends the same request again and again. */
export function always(call: Call): Load["call"] {
  return () => call;
}
