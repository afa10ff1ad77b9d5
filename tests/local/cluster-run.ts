import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asAdmin } from "../platform/postgres-databases.ts";
import { root } from "../config/shared.ts";
import { exitOf, type LocalRuntimeName } from "./runtimes.ts";
import {
  chat,
  end,
  makeGateway,
  sharingServer,
  until,
  webhook,
  type SharingServer,
} from "./sharing-servers.ts";

/** What happens to a server, or to the database of all of them, in this order. Others hit servers of two versions. */
export const faults = [
  "upgraded",
  "killed",
  "upgraded",
  "stood still",
  "upgraded",
  "ended",
  "database gone",
] as const;
export type Fault = (typeof faults)[number];

/** What servers of one database went through. */
export interface ClusterTotals {
  readonly faults: number;
  /** Webhooks, uploads and chats. */
  readonly acknowledged: number;
  readonly uploads: number;
  readonly chats: number;
  /** The longest time from the first attempt to send an event until it was acknowledged, in ms. */
  readonly longestMs: number;
  readonly violations: readonly string[];
}

/** Options of {@link clusterRun}. */
export interface ClusterRunOptions {
  /** One server of each. */
  readonly runtimes: readonly LocalRuntimeName[];
  /** The file of the next version of `sharing-child.ts`. */
  readonly nextProgram: string;
  /** How many faults there are; their kinds take turns. */
  readonly faults: number;
  /** Time between two faults, in ms. */
  readonly everyMs: number;
  readonly onFault: (fault: Fault, count: number, acknowledged: number) => void;
}

const LEASE_MS = 10_000;
/** Longer than the lease: a server that stood still must not write when it goes on. */
const STILL_MS = 15_000;
const DATABASE_GONE_MS = 10_000;
const ENTITIES = Array.from({ length: 12 }, (_, n) => `soak-${n}`);
const PAUSE_MS = 20;
const UPLOAD_PAUSE_MS = 1000;
/** Chats that each gateway lets through in a day before now: a fixed window may turn while the servers run. */
const CHATS = 500;
/** A gateway with a rate limit, and one with a budget; what the caller says of the cost counts. */
const GATEWAYS = ["limited", "budgeted"] as const;
const COST = { "cf-aig-custom-cost": '{"total_cost":1}' };
const INSTANCES = "/client/v4/accounts/local/ai-search/instances";

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The load, and what of it was acknowledged. */
interface Load {
  isOver: boolean;
  acknowledged: number;
  longestMs: number;
  /** By gateway. */
  readonly chats: Record<(typeof GATEWAYS)[number], number>;
  /** Numbers of the last event of each entity. */
  readonly sent: Map<string, number>;
  readonly uploads: string[];
}

/**
 * Has servers of a cluster die, stand still and end, and its database crash, while webhooks, uploads and chats come. A sender
 * repeats an event until it is acknowledged, and only then sends the next one of its entity.
 */
export async function clusterRun(options: ClusterRunOptions): Promise<ClusterTotals> {
  const folder = mkdtempSync(join(tmpdir(), "causey-cluster-soak-"));
  const postgres = await startPostgres();
  let folders = 0;
  let upgrades = 0;
  /** Servers of the next version. */
  const isNext = options.runtimes.map(() => false);
  const open = (runtime: LocalRuntimeName, at: number): Promise<SharingServer> =>
    sharingServer(
      runtime,
      join(folder, `server-${(folders += 1)}`),
      [postgres.url, String(LEASE_MS)],
      isNext[at] === true ? options.nextProgram : undefined,
    );
  const servers = await Promise.all(options.runtimes.map(open));
  const load: Load = {
    isOver: false,
    acknowledged: 0,
    longestMs: 0,
    chats: { limited: 0, budgeted: 0 },
    sent: new Map(ENTITIES.map((entity) => [entity, 0])),
    uploads: [],
  };
  const replace = async (at: number): Promise<void> => {
    const { child } = servers[at]!;
    end(child);
    await exitOf(child);
    servers[at] = await open(options.runtimes[at]!, at);
  };
  const strike: Readonly<Record<Fault, (at: number) => Promise<void>>> = {
    async killed(at) {
      servers[at]!.child.kill("SIGKILL");
      await exitOf(servers[at]!.child);
      servers[at] = await open(options.runtimes[at]!, at);
    },
    async "stood still"(at) {
      servers[at]!.child.kill("SIGSTOP");
      await wait(STILL_MS);
      servers[at]!.child.kill("SIGCONT");
    },
    ended: replace,
    // One after the other, and once all have the next version, all the way back.
    async upgraded() {
      const at = upgrades % servers.length;
      upgrades += 1;
      isNext[at] = isNext[at] !== true;
      await replace(at);
      await until(
        () => servers[at]!.ask("/readyz").then((answer) => answer.status),
        (status) => status === 200,
      );
    },
    async "database gone"() {
      postgres.restart(DATABASE_GONE_MS);
      await wait(DATABASE_GONE_MS);
    },
  };
  try {
    await prepare(servers[0]!);
    const under = Promise.all([
      ...ENTITIES.map((entity) => sendEvents(entity, servers, load)),
      ...GATEWAYS.map((gateway) => sendChats(gateway, servers, load)),
      sendUploads(servers, load),
    ]);
    for (let count = 1; count <= options.faults; count += 1) {
      await wait(options.everyMs);
      const fault = faults[(count - 1) % faults.length]!;
      await strike[fault](Math.floor(Math.random() * servers.length));
      options.onFault(fault, count, load.acknowledged);
    }
    await wait(options.everyMs);
    load.isOver = true;
    await under;
    const violations = [
      ...(await eventViolations(postgres.url, load.sent)),
      ...(await uploadViolations(servers[0]!, load.uploads)),
      ...GATEWAYS.filter((gateway) => load.chats[gateway] > CHATS).map(
        (gateway) => `${load.chats[gateway]} chats passed a limit of ${CHATS}: ${gateway}`,
      ),
    ];
    const chats = load.chats.limited + load.chats.budgeted;
    return { ...load, chats, uploads: load.uploads.length, faults: options.faults, violations };
  } finally {
    for (const { child } of servers) child.kill("SIGKILL");
    postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function prepare(server: SharingServer): Promise<void> {
  await makeGateway(server, "limited", {
    rate_limiting_interval: 86_400,
    rate_limiting_limit: CHATS,
    rate_limiting_technique: "sliding",
  });
  const rule = { limit: CHATS, limitType: "cost", window: 86_400, technique: "sliding" };
  await makeGateway(server, "budgeted", { spend_limits: { rules: [rule], on_unknown: "allow" } });
  const made = await server.ask(INSTANCES, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id: "soak" }),
  });
  if (!made.ok) throw new Error(await made.text());
  await made.body?.cancel();
}

async function sendEvents(
  entity: string,
  servers: readonly SharingServer[],
  load: Load,
): Promise<void> {
  for (let n = 1; !load.isOver; n += 1) {
    const began = performance.now();
    for (let turn = n; ; turn += 1) {
      const at = servers[turn % servers.length]!;
      const status = await webhook(at, "worked", entity, `${entity}-${n}`).catch(() => 0);
      if (status >= 200 && status < 300) break;
      await wait(PAUSE_MS);
    }
    load.longestMs = Math.max(load.longestMs, performance.now() - began);
    load.acknowledged += 1;
    load.sent.set(entity, n);
    await wait(PAUSE_MS);
  }
}

async function sendChats(
  gateway: (typeof GATEWAYS)[number],
  servers: readonly SharingServer[],
  load: Load,
): Promise<void> {
  for (let turn = 0; !load.isOver; turn += 1) {
    const status = await chat(servers[turn % servers.length]!, gateway, COST).catch(() => 0);
    if (status === 200) {
      load.chats[gateway] += 1;
      load.acknowledged += 1;
    }
    await wait(PAUSE_MS);
  }
}

/** Uploads texts; one whose answer is lost is not sent again. */
async function sendUploads(servers: readonly SharingServer[], load: Load): Promise<void> {
  for (let turn = 0; !load.isOver; turn += 1) {
    const body = new FormData();
    body.set("file", new File([`Text number ${turn} of the soak`], `text-${turn}.txt`));
    const answer = await servers[turn % servers.length]!.ask(`${INSTANCES}/soak/items`, {
      method: "POST",
      body,
    }).catch(() => null);
    const text = await answer?.text().catch(() => null);
    if (answer?.ok === true && typeof text === "string") {
      load.uploads.push(`text-${turn}.txt`);
      load.acknowledged += 1;
    }
    await wait(UPLOAD_PAUSE_MS);
  }
}

interface Postgres {
  readonly url: string;
  /** Has it crash, and start again so many ms later. */
  restart(ms: number): void;
  stop(): void;
}

async function startPostgres(): Promise<Postgres> {
  const script = `${root}tests/platform/postgres-server.ts`;
  const child = spawn(process.execPath, [script], { stdio: ["pipe", "pipe", "inherit"] });
  const answer = JSON.parse(await firstLine(child)) as {
    readonly url?: string;
    readonly lacks?: string;
  };
  if (answer.url === undefined) throw new Error(answer.lacks);
  return {
    url: answer.url,
    restart: (ms) => void child.stdin.write(`restart ${ms}\n`),
    stop: () => void child.stdin.end(),
  };
}

function firstLine({ stdout }: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    stdout?.once("data", (data: Uint8Array) => {
      resolve(new TextDecoder().decode(data));
    });
  });
}

/** Compares what was acknowledged with what is stored and handled; an event that ran in vain as its server died may run again. */
async function eventViolations(url: string, sent: ReadonlyMap<string, number>): Promise<string[]> {
  const events = await asAdmin(url, "SELECT id, seq::int FROM agents_events ORDER BY agent, seq");
  const violations: string[] = [];
  for (const [entity, last] of sent) {
    const own = events.filter(({ id }) => String(id).startsWith(`${entity}-`));
    for (let n = 1; n <= last; n += 1)
      if (own[n - 1]?.["id"] !== `${entity}-${n}` || own[n - 1]?.["seq"] !== n)
        violations.push(`event ${n} of ${entity} is not the one that was acknowledged as it`);
  }
  const runs = () =>
    asAdmin(url, "SELECT id, attempt, COUNT(*)::int AS n FROM crash_done GROUP BY 1, 2");
  const handled = await until(
    runs,
    (rows) => new Set(rows.map(({ id }) => id)).size === events.length,
  );
  for (const { id, attempt, n } of handled)
    if (n !== 1)
      violations.push(`attempt ${String(attempt)} of ${String(id)} ran ${String(n)} times`);
  return violations;
}

/** Looks for acknowledged uploads that are not in the index at the end. */
async function uploadViolations(
  server: SharingServer,
  names: readonly string[],
): Promise<string[]> {
  const completed = async (): Promise<Set<string>> => {
    const keys = new Set<string>();
    for (let page = 1, full = true; full; page += 1) {
      const query = `per_page=50&page=${page}`;
      const answer = await server.ask(`${INSTANCES}/soak/items?${query}`);
      const { result } = (await answer.json()) as {
        readonly result: readonly { readonly key: string; readonly status: string }[];
      };
      for (const { key, status } of result) if (status === "completed") keys.add(key);
      full = result.length === 50;
    }
    return keys;
  };
  const found = await until(completed, (keys) => names.every((name) => keys.has(name))).catch(
    completed,
  );
  return names
    .filter((name) => !found.has(name))
    .map((name) => `upload ${name} is not in the index`);
}
