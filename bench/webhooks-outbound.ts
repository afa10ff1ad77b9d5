// Sending webhooks: messages of 200 bytes are handed to the API as fast as it takes them, and counted where they arrive; the
// time is from the first send to the last arrival. One endpoint answers at once, one after 100 ms, and one answers at once
// while ten others hang. The floor: the same bodies posted by plain `node:http`, as many at a time, a connection each as
// causey makes them, to the same receivers. The goals: 500 deliveries a second to the first, 300 to the second, and others
// that hang cost the third no more than a fifth.
import { createServer, type Server, request } from "node:http";
import type { AddressInfo } from "node:net";
import { causeyCommand, TOKEN } from "./harness/causey.ts";
import { CPU, type Figure, type Results, type Round, summarise } from "./harness/figure.ts";
import { sendAll, sendOne } from "./harness/load.ts";
import type { Options } from "./harness/options.ts";
import { runtimes, start } from "./harness/servers.ts";

const MESSAGES = 2000;
/** Requests at a time: an endpoint's default. */
const AT_A_TIME = 50;
const MS = "ms/delivery";
const api = "/client/v4/accounts/local/webhooks";
const headers = { authorization: `Bearer ${TOKEN}` };
const payload = { padding: "x".repeat(180) };

type Runtime = keyof typeof runtimes;
const names: readonly Runtime[] = ["Node", "Deno", "Bun"];

interface Workload {
  readonly title: string;
  readonly latencyMs: number;
  readonly hanging: number;
  readonly goal: number;
}

const workloads: readonly Workload[] = [
  { title: "an endpoint that answers at once", latencyMs: 0, hanging: 0, goal: 1000 / 500 },
  { title: "an endpoint that takes 100 ms", latencyMs: 100, hanging: 0, goal: 1000 / 300 },
  { title: "the first again, ten others hang", latencyMs: 0, hanging: 10, goal: 1000 / 400 },
];

/** Runs `webhooks-outbound`. */
export async function* bench({ only, rounds: count }: Options): AsyncGenerator<Figure[]> {
  for (const workload of workloads) {
    const field = names.filter((name) => only === undefined || name === only);
    const results: (Results & { rounds: Round[] })[] = [
      { name: "node:http", rounds: [] },
      ...field.map((name) => ({
        name: `causey on ${name}`,
        goals: [{ what: MS, atMost: workload.goal }],
        rounds: [],
      })),
    ];
    for (let round = 0; round < count; round++) {
      for (const [index, one] of results.entries()) {
        const name = field[index - 1];
        one.rounds.push(name === undefined ? await floor(workload) : await causey(name, workload));
      }
    }
    yield summarise(`outbound webhooks: ${workload.title}, ${MESSAGES} messages`, results);
  }
}

/** A receiver that resolves `arrived` when it has answered so many requests. */
async function receiver(
  latencyMs: number,
): Promise<{ server: Server; url: string; arrived: Promise<void> }> {
  let left = MESSAGES;
  let done = (): void => undefined;
  const arrived = new Promise<void>((resolve) => (done = resolve));
  const server = createServer((incoming, response) => {
    incoming.resume();
    if (incoming.url === "/hangs") return;
    setTimeout(() => {
      response.end("ok");
      if (--left === 0) done();
    }, latencyMs);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, arrived };
}

async function floor({ latencyMs }: Workload): Promise<Round> {
  const { server, url, arrived } = await receiver(latencyMs);
  const body = JSON.stringify(payload);
  let next = 0;
  const began = performance.now();
  const worker = async (): Promise<void> => {
    while (next++ < MESSAGES)
      await new Promise<void>((resolve, reject) => {
        const outgoing = request(url, { method: "POST", agent: false }, (response) => {
          response.resume().once("end", resolve);
        });
        outgoing.once("error", reject).end(body);
      });
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  await arrived;
  return ended(server, began);
}

async function causey(name: Runtime, { hanging, latencyMs }: Workload): Promise<Round> {
  const { server, url, arrived } = await receiver(latencyMs);
  const { command, env } = causeyCommand(name, { webhooks: { allowHosts: ["127.0.0.1"] } });
  const target = await start(command, env);
  try {
    const post = (path: string, body: object): { path: string; headers: object; body: string } => ({
      path: `${api}${path}`,
      headers,
      body: JSON.stringify(body),
    });
    const call = async (path: string, body: object): Promise<void> => {
      const { status, text } = await sendOne(target.url, { ...post(path, body), headers });
      if (status > 299) throw new Error(`${path}: ${status} ${text}`);
    };
    for (let n = 0; n < hanging; n++) {
      await call("/endpoints", { url: `${url}/hangs`, types: [`hangs-${n}`] });
      for (let m = 0; m < 20; m++) await call("/send", { type: `hangs-${n}`, payload });
    }
    await call("/endpoints", { url, types: ["measured"] });
    const cpu = target.cpuMicros();
    const began = performance.now();
    await sendAll(target.url, MESSAGES, () => ({
      ...post("/send", { type: "measured", payload }),
      headers,
    }));
    await arrived;
    const cpuMicros = target.cpuMicros() - cpu;
    return { ...ended(server, began), [CPU]: cpuMicros / MESSAGES };
  } finally {
    await target.stop();
  }
}

function ended(server: Server, began: number): Round {
  const ms = performance.now() - began;
  server.closeAllConnections();
  server.close();
  return { "deliveries/s": (MESSAGES * 1000) / ms, [MS]: ms / MESSAGES };
}
