import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asAdmin } from "../platform/postgres-databases.ts";
import { root } from "../config/shared.ts";
import { exitOf, type LocalRuntimeName } from "./runtimes.ts";
import { sharingServer, until, webhook, type SharingServer } from "./sharing-servers.ts";

/** What servers of one database went through. */
export interface ClusterTotals {
  readonly kills: number;
  readonly acknowledged: number;
  /** The longest time from the first attempt to send an event until it was acknowledged, in ms. */
  readonly longestMs: number;
  readonly violations: readonly string[];
}

/** Options of {@link clusterRun}. */
export interface ClusterRunOptions {
  /** One server of each. */
  readonly runtimes: readonly LocalRuntimeName[];
  readonly kills: number;
  /** Time between two kills, in ms. */
  readonly everyMs: number;
  readonly onKill: (kill: number, acknowledged: number) => void;
}

const LEASE_MS = 10_000;
const ENTITIES = Array.from({ length: 12 }, (_, n) => `soak-${n}`);
const PAUSE_MS = 20;

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Kills a server of a cluster at a time while webhooks come, and starts another one. A sender repeats an event until it is
 * acknowledged, and only then sends the next one of its entity.
 */
export async function clusterRun(options: ClusterRunOptions): Promise<ClusterTotals> {
  const folder = mkdtempSync(join(tmpdir(), "causey-cluster-soak-"));
  const postgres = await startPostgres();
  let folders = 0;
  const open = (runtime: LocalRuntimeName): Promise<SharingServer> =>
    sharingServer(runtime, join(folder, `server-${(folders += 1)}`), [
      postgres.url,
      String(LEASE_MS),
    ]);
  const servers = await Promise.all(options.runtimes.map(open));
  const state = { isOver: false, acknowledged: 0, longestMs: 0 };
  const sent = new Map(ENTITIES.map((entity) => [entity, 0]));

  async function send(entity: string): Promise<void> {
    for (let n = 1; !state.isOver; n += 1) {
      const began = performance.now();
      for (let turn = n; ; turn += 1) {
        const at = servers[turn % servers.length]!;
        const status = await webhook(at, "worked", entity, `${entity}-${n}`).catch(() => 0);
        if (status >= 200 && status < 300) break;
        await wait(PAUSE_MS);
      }
      state.longestMs = Math.max(state.longestMs, performance.now() - began);
      state.acknowledged += 1;
      sent.set(entity, n);
      await wait(PAUSE_MS);
    }
  }

  try {
    const sending = Promise.all(ENTITIES.map(send));
    for (let kill = 1; kill <= options.kills; kill += 1) {
      await wait(options.everyMs);
      const at = Math.floor(Math.random() * servers.length);
      const { child } = servers[at]!;
      child.kill("SIGKILL");
      await exitOf(child);
      servers[at] = await open(options.runtimes[at]!);
      options.onKill(kill, state.acknowledged);
    }
    await wait(options.everyMs);
    state.isOver = true;
    await sending;
    const violations = await violationsOf(postgres.url, sent);
    return { ...state, kills: options.kills, violations };
  } finally {
    for (const { child } of servers) child.kill("SIGKILL");
    postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startPostgres(): Promise<{ readonly url: string; stop(): void }> {
  const script = `${root}tests/platform/postgres-server.ts`;
  const child = spawn(process.execPath, [script], { stdio: ["pipe", "pipe", "inherit"] });
  const line = await new Promise<string>((resolve) => {
    child.stdout.once("data", (data: Uint8Array) => {
      resolve(new TextDecoder().decode(data));
    });
  });
  const answer = JSON.parse(line) as { readonly url?: string; readonly lacks?: string };
  if (answer.url === undefined) throw new Error(answer.lacks);
  return { url: answer.url, stop: () => void child.stdin.end() };
}

/** Compares what was acknowledged with what is stored and handled; an event that ran in vain as its server died may run again. */
async function violationsOf(url: string, sent: ReadonlyMap<string, number>): Promise<string[]> {
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
