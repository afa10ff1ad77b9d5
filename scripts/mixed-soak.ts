// `npm run test:mixed-soak [-- MINUTES [RUNTIME]]`: streams, renders, uploads, searches and webhooks with sockets at once, on
// one server on node, deno, bun or workers, or of the built package on Node, while the console's feed is open. Tells of every
// answer that is not what is documented, how the memory went, how long the console was silent at most, and how the server
// ended.
import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "undici";

const minutes = Number(process.argv[2] ?? 10);
const commands: Readonly<Record<string, readonly [string, ...string[]]>> = {
  node: [process.execPath, "adapters/cli/main.ts", "serve"],
  // As users install it, after `npm run build`. Sources take 50 to 65 MB more: Node strips their types, in each thread.
  package: [process.execPath, "dist/cli/main.js", "serve"],
  deno: ["tools/node_modules/deno/deno", "run", "-A", "adapters/cli/main.ts", "serve"],
  bun: ["tools/node_modules/bun/bin/bun.exe", "adapters/cli/main.ts", "serve"],
  workers: [process.execPath, "scripts/serve-workers.mjs"],
};
const runtime = process.argv[3] ?? "node";
const [file, ...fixed] = commands[runtime] ?? [];
if (file === undefined || !(minutes > 0))
  throw new Error(`MINUTES is a number, RUNTIME one of ${Object.keys(commands).join(", ")}`);
/** Milliseconds that the console may be silent, and that the end may take. */
const SILENCE_MS = 15_000;
const END_MS = 30_000;
/** The ratio of memory to that in the first fifth up to which it does not count as growth. */
const GROWTH = 1.35;
const PARALLEL = 4;

const dataDir = mkdtempSync(join(tmpdir(), "causey-mixed-soak-"));
const server = spawn(
  file,
  [...fixed, "--port", "0", "--data-dir", dataDir, "--log-level", "warn"],
  { stdio: ["ignore", "pipe", "inherit"] },
);
const ended = once(server, "exit");
process.on("exit", () => void server.kill("SIGKILL"));
const url = await address();
const token = readFileSync(join(dataDir, "token"), "utf8").trim();
const webhookSecret = readFileSync(join(dataDir, "demo-webhook-secret"), "utf8").trim();
const root = `${url}/client/v4/accounts/local`;
const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };

const counts = new Map<string, number>();
const problems = new Map<string, number>();
const memory: number[] = [];
let silence = 0;
const over = new AbortController();

/** The documented answers of a full server beside the ones that are meant. */
const BUSY = new Set([429, 503]);

async function address(): Promise<string> {
  let output = "";
  for await (const chunk of server.stdout.iterator({ destroyOnReturn: false })) {
    output += String(chunk);
    const found = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0];
    if (found !== undefined && output.includes("Token")) {
      server.stdout.resume();
      return found;
    }
  }
  throw new Error("The server ended before it listened");
}

function count(into: Map<string, number>, name: string): void {
  into.set(name, (into.get(name) ?? 0) + 1);
}

/** Does one thing again and again; `work` resolves to what is wrong, if anything is. */
async function repeatedly(
  name: string,
  pauseMs: number,
  work: (turn: number) => Promise<string | null>,
): Promise<void> {
  for (let turn = 0; !over.signal.aborted; turn++) {
    const problem = await work(turn).catch((error: unknown) => String(error));
    count(counts, name);
    if (problem !== null) count(problems, `${name}: ${problem.slice(0, 200)}`);
    await sleep(pauseMs);
  }
}

async function answered(
  response: Response,
  isRight: (text: string) => boolean,
): Promise<string | null> {
  const text = await response.text();
  if (BUSY.has(response.status)) {
    count(counts, `told to come repeatedly (${response.status})`);
    return null;
  }
  if (response.status >= 300) return `status ${response.status} ${text.slice(0, 120)}`;
  return isRight(text) ? null : `unexpected ${text.slice(0, 120)}`;
}

const post = (path: string, body: unknown): Promise<Response> =>
  fetch(`${root}${path}`, { method: "POST", headers, body: JSON.stringify(body) });

const stream = async (): Promise<string | null> => {
  const content = "word ".repeat(200);
  const response = await fetch(`${url}/v1/local/default/echo/chat/completions`, {
    method: "POST",
    headers: { "cf-aig-authorization": `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "echo", stream: true, messages: [{ role: "user", content }] }),
  });
  return answered(response, (text) => text.trimEnd().endsWith("data: [DONE]"));
};
const render = async (turn: number): Promise<string | null> =>
  answered(
    await post("/browser-rendering/markdown", {
      html: `<h1>Page ${turn}</h1><script>document.body.append("ran")</script>`,
    }),
    (text) => text.includes(`Page ${turn}`) && text.includes("ran"),
  );
const upload = async (turn: number): Promise<string | null> => {
  const form = new FormData();
  const text = `# Note ${turn}\n\n${`The soak wrote sentence ${turn}. `.repeat(40)}`;
  form.set("file", new File([text], `soak-${turn % 40}.md`, { type: "text/markdown" }));
  const response = await fetch(`${root}/ai-search/instances/demo/items`, {
    method: "POST",
    headers: { authorization: headers.authorization },
    body: form,
  });
  return answered(response, (body) => body.includes('"success":true'));
};
const search = async (): Promise<string | null> =>
  answered(
    await post("/ai-search/instances/demo/search", { query: "rotate the master key" }),
    (text) => text.includes('"chunks":[{'),
  );

/** Sends webhooks of an entity to which a socket listens: each has to come there as a change of state. */
async function webhooks(entity: string): Promise<void> {
  const made = await fetch(`${url}/agents/webhook-agent/${entity}/ticket`, {
    method: "POST",
    headers,
    body: "{}",
  });
  const { result } = (await made.json()) as { result: { ticket: string } };
  const socket = new WebSocket(
    `${url.replace("http", "ws")}/agents/webhook-agent/${entity}?ticket=${encodeURIComponent(result.ticket)}`,
  );
  let seen = "";
  socket.addEventListener("message", ({ data }) => (seen = String(data)));
  await once(socket, "open").catch(() => count(problems, "socket: did not open"));
  await repeatedly("webhook seen on a socket", 60, async (turn) => {
    const title = `event-${turn}`;
    const body = JSON.stringify({ entity, type: "soak", title });
    const signature = createHmac("sha256", webhookSecret).update(body).digest("hex");
    const response = await fetch(`${url}/webhooks/demo`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-signature": `sha256=${signature}` },
      body,
    });
    const problem = await answered(response, (text) => text.includes('"success":true'));
    if (problem !== null) return problem;
    for (let waits = 0; waits < 500; waits++) {
      if (seen.includes(`"${title}"`)) return null;
      await sleep(20);
    }
    return "the socket did not hear of it";
  });
  socket.close();
}

/** Keeps the console's feed open, and measures how long it says nothing. */
async function watchConsole(): Promise<void> {
  const own = { "x-causey-console": "1", "content-type": "application/json" };
  const login = await fetch(`${url}/console/session`, {
    method: "POST",
    headers: own,
    body: JSON.stringify({ token }),
  });
  const cookie = (login.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  const feed = await fetch(`${url}/console/events`, {
    headers: { ...own, cookie },
    signal: over.signal,
  });
  let heard = performance.now();
  const timer = setInterval(() => {
    silence = Math.max(silence, performance.now() - heard);
  }, 100);
  try {
    for await (const chunk of feed.body ?? []) {
      count(counts, "chunk of the console's feed");
      if (chunk.byteLength > 0) heard = performance.now();
    }
    if (!over.signal.aborted) count(problems, "console: the feed ended");
  } catch (error) {
    if (!over.signal.aborted) count(problems, `console: ${String(error)}`);
  }
  clearInterval(timer);
}

/** Returns the megabytes of the server, as it counts them; of workerd, which cannot, as the system does. */
async function megabytes(): Promise<number> {
  const response = await fetch(`${url}/metrics`, { headers });
  const text = await response.text();
  const own = /^process_resident_memory_bytes (\S+)/m.exec(text)?.[1];
  if (own !== undefined) return Number(own) / 1e6;
  const pid = String(server.pid);
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  const kilobytes = children.map((child) => {
    const status = readFileSync(`/proc/${child}/status`, "utf8");
    const isWorkerd = status.startsWith("Name:\tworkerd");
    return isWorkerd ? Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) : 0;
  });
  return kilobytes.reduce((sum, one) => sum + one, 0) / 1000;
}

const look = async (): Promise<string | null> => {
  memory.push(await megabytes());
  const ready = await fetch(`${url}/readyz`);
  return ready.status === 200 ? null : `/readyz ${ready.status} ${await ready.text()}`;
};

const work = [
  ...Array.from({ length: PARALLEL }, () => repeatedly("stream", 20, stream)),
  repeatedly("render", 200, render),
  repeatedly("upload", 250, upload),
  repeatedly("search", 40, search),
  webhooks("soak-a"),
  webhooks("soak-b"),
  watchConsole(),
  repeatedly("look", 5000, look),
];
const seconds = minutes * 60;
for (let passed = 0; passed < seconds; passed += 30) {
  await sleep(Math.min(30, seconds - passed) * 1000);
  process.stdout.write(
    `${passed + 30} s: ${memory.at(-1)?.toFixed(0)} MB, ${problems.size} kinds of problems\n`,
  );
}
over.abort();
await Promise.all(work);
const asked = performance.now();
server.kill("SIGTERM");
const [code] = (await Promise.race([ended, sleep(END_MS, ["still running"])])) as [unknown];
const endMs = performance.now() - asked;

const mean = (values: readonly number[]): number =>
  values.reduce((sum, one) => sum + one, 0) / values.length;
const fifth = Math.max(1, Math.floor(memory.length / 5));
// The first looks see the caches and the browser's start.
const [before, after] = [mean(memory.slice(fifth, 2 * fifth)), mean(memory.slice(-fifth))];
if (after > before * GROWTH)
  count(problems, `memory grew from ${before.toFixed(0)} to ${after.toFixed(0)} MB`);
if (silence > SILENCE_MS) count(problems, `the console was silent for ${silence.toFixed(0)} ms`);
if (code !== 0) count(problems, `the server ended with ${String(code)}`);
for (const [name, times] of counts) process.stdout.write(`${name}: ${times}\n`);
process.stdout.write(
  `memory ${before.toFixed(0)} → ${after.toFixed(0)} MB, console silent for ${silence.toFixed(0)} ms at most, ended in ${endMs.toFixed(0)} ms\n`,
);
for (const [problem, times] of problems) process.stdout.write(`PROBLEM ${times} × ${problem}\n`);
rmSync(dataDir, { recursive: true, force: true });
process.exit(problems.size === 0 ? 0 : 1);
