// Taking a webhook: a GitHub event of 1 KB, signed, with a delivery id that never repeats, over 50 entities; answered
// after signature, deduplication and a FULL commit of event and state. The floors: a bare Hono route on the same
// runtime that reads the body and believes it. The peer: the public agents SDK on local workerd (its own commit, state
// persisted). Then the same with 100 WebSocket clients, two per entity.
// `--only watched` or `--only Node` narrows it down.
import { createHmac } from "node:crypto";
import { WebSocket } from "ws";
import { causeyCommand, TOKEN } from "./harness/causey.ts";
import { type Figure, type Goal, percentile } from "./harness/figure.ts";
import type { Load } from "./harness/load.ts";
import type { Options } from "./harness/options.ts";
import { peerFolder } from "./harness/peers.ts";
import { compareServers, type Contestant, narrowed, runtimes } from "./harness/servers.ts";

const ENTITIES = 50;
const SOCKETS_PER_ENTITY = 2;
const secret = "bench-secret-0123456789abcdef";

type Runtime = keyof typeof runtimes;
const names: readonly Runtime[] = ["Node", "Deno", "Bun"];

/** Indicative goals for the watched load, µs of CPU per event. */
const watchedGoals: Readonly<Record<Runtime, number>> = { Node: 150, Deno: 110, Bun: 100 };

const events = Array.from({ length: ENTITIES }, (_, n) => {
  const event = {
    action: "created",
    repository: { id: n, full_name: `bench/repo-${n}`, stargazers_count: n },
    sender: { login: "octocat", html_url: "https://github.com/octocat" },
    starred_at: "2026-11-21T00:00:00Z",
    padding: "",
  };
  event.padding = "x".repeat(1024 - JSON.stringify(event).length);
  const body = JSON.stringify(event);
  const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
  return { body, signature };
});

/** A way to send the events. */
interface Workload {
  readonly name: string;
  readonly watched: boolean;
  readonly perSecond?: number;
}

const workloads: readonly Workload[] = [
  { name: "as fast as answered", watched: false },
  { name: "as fast as answered, watched by 100 sockets", watched: true },
  { name: "500 events/s, watched by 100 sockets", watched: true, perSecond: 500 },
];

/** Runs `webhooks`. */
export async function* bench(options: Options): AsyncGenerator<Figure[]> {
  const { only, connections: [connections = 50] = [] } = options;
  for (const workload of workloads) {
    const title = `webhooks: ${workload.name}, ${connections} connections`;
    const peers = peerFolder("agents") === undefined ? [] : [sdk(workload)];
    const all = [...names.flatMap((runtime) => pair(runtime, workload)), ...peers];
    const field = narrowed(title, all, only);
    yield await compareServers(title, field, { ...options, connections });
  }
}

function pair(runtime: Runtime, { watched, perSecond }: Workload): Contestant[] {
  const floor = `bare route on ${runtime}`;
  const config = { webhooks: { sources: { github: { scheme: "github", secret } } } };
  const pace = perSecond === undefined ? {} : { perSecond };
  return [
    {
      name: floor,
      command: [...runtimes[runtime], "bench/servers/bare-route.ts"],
      call: delivery,
      ...pace,
    },
    {
      name: `causey on ${runtime}`,
      goals: goalsOf(runtime, { watched, paced: perSecond !== undefined }),
      ...causeyCommand(runtime, config),
      call: delivery,
      ...pace,
      ...(watched ? { attend: watch } : {}),
    },
  ];
}

/** The public agents SDK on local workerd, not on its home platform: a peer where both can be measured. */
const SDK = "agents SDK on workerd";

function sdk({ watched, perSecond }: Workload): Contestant {
  return {
    name: SDK,
    command: [process.execPath, "bench/servers/agents-sdk.ts"],
    env: { BENCH_SECRET: secret },
    call: delivery,
    ...(perSecond === undefined ? {} : { perSecond }),
    ...(watched ? { attend: watch } : {}),
  };
}

function goalsOf(
  runtime: Runtime,
  { watched, paced }: { watched: boolean; paced: boolean },
): Goal[] {
  if (paced) {
    return [
      { what: "p99 ms", atMost: 10 },
      { what: FRAME, atMost: 50 },
    ];
  }
  const ratios = [
    { of: `bare route on ${runtime}`, atMost: 4 },
    { of: SDK, atMost: 1 / 6 },
  ];
  return watched ? [...ratios, { atMost: watchedGoals[runtime] }] : ratios;
}

/** Milliseconds from the sending of an event to the first state frame that names it. */
const FRAME = "frame p99 ms";
/** When the events under way were sent, by delivery id. */
const sentAt = new Map<string, number>();

const delivery: Load["call"] = (n) => {
  const { body, signature } = events[n % ENTITIES]!;
  const id = `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
  sentAt.set(id, performance.now());
  const headers = {
    "user-agent": "GitHub-Hookshot/bench",
    "x-github-event": "star",
    "x-github-delivery": id,
    "x-hub-signature-256": signature,
  };
  return { path: "/webhooks/github", headers, body };
};

/** Connects the watchers; who leaves without having seen a frame of an event measured nothing. */
async function watch(url: URL): Promise<() => Record<string, number>> {
  sentAt.clear();
  const delays: number[] = [];
  const onFrame = (frame: string): void => {
    const id = /"lastEvent":\{"id":"([^"]+)"/.exec(frame)?.[1] ?? "";
    const sent = sentAt.get(id);
    if (sent === undefined) return;
    delays.push(performance.now() - sent);
    sentAt.delete(id);
  };
  const sockets = await Promise.all(
    Array.from({ length: ENTITIES * SOCKETS_PER_ENTITY }, (_, n) => {
      const path = `/agents/webhook-agent/bench-repo-${n % ENTITIES}?token=${TOKEN}`;
      return connect(new URL(path, `ws://${url.host}`), onFrame);
    }),
  );
  return () => {
    for (const socket of sockets) socket.terminate();
    if (delays.length === 0) throw new Error("No watcher saw an event");
    delays.sort((a, b) => a - b);
    return { [FRAME]: percentile(delays, 0.99) };
  };
}

function connect(url: URL, onFrame: (frame: string) => void): Promise<WebSocket> {
  const socket = new WebSocket(url);
  socket.on("message", (data: Buffer) => onFrame(data.toString()));
  return new Promise((resolve, reject) => {
    socket.once("open", () => resolve(socket)).once("error", reject);
  });
}
