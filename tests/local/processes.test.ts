import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it as always } from "vitest";
import { eventually } from "../cases/eventually.ts";
import { pagesOfEach, processCount } from "../../adapters/cli/config/process-count.ts";
import { checkReusePort } from "../../adapters/shared/http/drain.ts";
import { itUnless } from "../config/it-unless.ts";
import { host } from "../config/shared.ts";
import { seed } from "./command/run-command.ts";
import { childrenOf, isAlive, socketsAt } from "./process-table.ts";
import { exitOf, lineWith, start, startCommand } from "./runtimes.ts";

const it = itUnless(
  process.platform === "linux" ? undefined : "processes share a port on Linux only",
);
const CAUSEY_TOKEN = "processes-token-with-every-permission";

interface Running {
  readonly pid: number;
  readonly port: number;
  readonly url: string;
  /** All that it has said. */
  output(): string;
  readonly ended: Promise<number | string>;
}

/** What was started, to be ended whatever the test finds; the rest ends with it. */
const started: number[] = [];

function signal(name: "SIGINT" | "SIGTERM" | "SIGKILL", ...pids: number[]): void {
  for (const pid of pids) if (isAlive(pid)) process.kill(pid, name);
}

afterEach(() => {
  signal("SIGKILL", ...started.splice(0));
});

function run(...args: string[]): Omit<Running, "port" | "url"> {
  const child = startCommand(host, ["serve", "--grace-ms", "30000", ...args], { CAUSEY_TOKEN });
  started.push(child.pid ?? 0);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  return { pid: child.pid ?? 0, output: () => output, ended: exitOf(child) };
}

async function serve(...args: string[]): Promise<Running> {
  const running = run("--port", "0", ...args);
  await eventually(
    () => !isAlive(running.pid) || /^Retired .*\n/mu.test(running.output()),
    "the start lines",
  );
  const url = /http:\/\/127\.0\.0\.1:(\d+)/u.exec(running.output());
  if (url === null) throw new Error(`It does not listen: ${running.output()}`);
  return { ...running, url: url[0], port: Number(url[1]) };
}

const fresh = (): string => join(inject("scratch"), `processes-${crypto.randomUUID()}`);

const listening = ({ port, pid }: Running): number =>
  socketsAt(port, "listening", [pid, ...childrenOf(pid)]).filter((count) => count > 0).length;

/** Connects, sends, and resolves with the first bytes of the answer. */
function ask(port: number, text: string): Promise<{ socket: Socket; answer: string }> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    socket.once("error", reject);
    socket.once("data", (bytes) => resolve({ socket, answer: bytes.toString("latin1") }));
  });
}

/** Sends requests until nobody listens any more; notes the log id of each that was answered. */
async function askOnAndOn(url: string, answered: Set<string>): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/v1/local/default/echo/chat/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "cf-aig-authorization": `Bearer ${CAUSEY_TOKEN}`,
      },
      body: JSON.stringify({ model: "echo", messages: [{ role: "user", content: "hello" }] }),
    })
      .then(async (response) => {
        await response.text();
        return response;
      })
      .catch(() => null);
    if (answer?.status !== 200) return;
    answered.add(answer.headers.get("cf-aig-log-id") ?? "");
  }
}

describe(`causey serve --processes on ${host}`, () => {
  let shared: Running;
  beforeAll(async () => {
    if (process.platform !== "linux") return;
    shared = await serve("--data-dir", fresh(), "--no-demo", "--processes", "3");
    started.length = 0;
  });
  afterAll(() => {
    if (process.platform === "linux") signal("SIGKILL", shared.pid);
  });

  it("has several processes listen on one port, and each gets connections", async () => {
    const server = shared;
    expect(server.output()).toMatch(/^causey .*, 3 processes$/mu);
    expect(server.output().match(/^Listening/gmu)).toHaveLength(1);
    // How each of them came to its state is nobody's concern.
    expect(server.output()).not.toContain("Joined");
    const pids = [server.pid, ...childrenOf(server.pid)];
    expect(pids).toHaveLength(3);
    expect(listening(server)).toBe(3);
    const asked = await Promise.all(
      Array.from({ length: 64 }, () => ask(server.port, "GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n")),
    );
    const statuses = new Set(asked.map(({ answer }) => answer.split(" ")[1]));
    const counts = socketsAt(server.port, "connected", pids);
    for (const { socket } of asked) socket.destroy();
    expect([...statuses]).toEqual(["200"]);
    expect(counts.every((count) => count > 0)).toBe(true);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(64);
  });

  it("replaces a process that was killed", async () => {
    const server = shared;
    const [killed = 0, ...others] = childrenOf(server.pid);
    signal("SIGKILL", killed);
    await eventually(() => !isAlive(killed) && listening(server) === 3, "three listen again");
    const now = childrenOf(server.pid);
    expect(now).not.toContain(killed);
    expect(now).toEqual(expect.arrayContaining(others));
    const line = server
      .output()
      .split("\n")
      .find((one) => one.includes("is replaced"));
    expect(JSON.parse(line ?? "")).toMatchObject({
      level: "warn",
      pid: killed,
      reason: "SIGKILL",
    });
  });

  it("drains all on SIGTERM, and keeps the row of every answer", async () => {
    const folder = fresh();
    await seed(folder);
    const server = await serve("--data-dir", folder, "--processes", "2");
    const children = childrenOf(server.pid);
    const answered = new Set<string>();
    const asking = Array.from({ length: 8 }, () => askOnAndOn(server.url, answered));
    await eventually(() => answered.size >= 60, "60 answers");
    signal("SIGTERM", server.pid);
    expect(await server.ended).toBe(0);
    expect(children.filter(isAlive)).toEqual([]);
    await Promise.all(asking);
    const again = await serve("--data-dir", folder);
    const rows = `${again.url}/client/v4/accounts/local/ai-gateway/gateways/default/logs`;
    const lost: string[] = [];
    for (const id of answered) {
      const headers = { authorization: `Bearer ${CAUSEY_TOKEN}` };
      const { status, body } = await fetch(`${rows}/${id}`, { headers });
      await body?.cancel();
      if (status !== 200) lost.push(id);
    }
    expect(lost).toEqual([]);
  });

  it("replaces none that a signal to the whole group has reached before it", async () => {
    const server = await serve("--data-dir", fresh(), "--no-demo", "--processes", "2");
    const children = childrenOf(server.pid);
    signal("SIGINT", ...children);
    await eventually(() => !children.some(isAlive), "the others have ended");
    signal("SIGINT", server.pid);
    expect(await server.ended).toBe(0);
    expect(server.output()).not.toContain("is replaced");
  });

  it("takes a signal to the whole group as one", async () => {
    const server = await serve("--data-dir", fresh(), "--no-demo", "--processes", "2");
    const children = childrenOf(server.pid);
    signal("SIGINT", server.pid, ...children);
    expect(await server.ended).toBe(0);
    expect(children.filter(isAlive)).toEqual([]);
    expect(server.output()).not.toContain("is replaced");
  });

  it("ends all at once on a second signal", async () => {
    const folder = fresh();
    await seed(folder);
    const server = await serve("--data-dir", folder, "--processes", "2");
    const children = childrenOf(server.pid);
    const head = `POST /v1/local/default/echo/chat/completions HTTP/1.1\r\nhost: x\r\ncf-aig-authorization: Bearer ${CAUSEY_TOKEN}\r\n`;
    // Half of a body: whoever got it waits for the rest.
    const halves = Array.from({ length: 16 }, () => {
      const socket = connect(server.port, "127.0.0.1");
      socket.on("error", () => undefined);
      socket.write(
        `${head}content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"model":`,
      );
      return socket;
    });
    const connected = (): number =>
      socketsAt(server.port, "connected", [server.pid, ...children]).reduce((a, b) => a + b, 0);
    await eventually(() => connected() === halves.length, "all are accepted");
    await fetch(`${server.url}/readyz`).then((response) => response.text());
    signal("SIGTERM", server.pid);
    await eventually(() => listening(server) === 0, "nobody listens");
    signal("SIGTERM", server.pid);
    expect(await server.ended).not.toBe(0);
    await eventually(() => !children.some(isAlive), "the others end");
    for (const socket of halves) socket.destroy();
  });

  it("says in one line that the port is taken, by whomever", async () => {
    const alone = createServer();
    await new Promise<void>((resolve) => alone.listen(0, "127.0.0.1", resolve));
    for (const port of [shared.port, (alone.address() as AddressInfo).port]) {
      const args = ["--no-demo", "--data-dir", fresh(), "--processes", "2"];
      const second = run("--port", String(port), ...args);
      expect(await second.ended).toBe(1);
      expect(second.output()).toBe(
        `error: Port ${port} on 127.0.0.1 is in use: stop what listens there, or choose another with --port (0 = any free one)\n`,
      );
    }
    await new Promise((resolve) => alone.close(resolve));
  });

  it("leaves no process behind when the first one is killed", async () => {
    const server = shared;
    const children = childrenOf(server.pid);
    expect(children).toHaveLength(2);
    signal("SIGKILL", server.pid);
    await eventually(() => !children.some(isAlive), "the others end");
    await expect(ask(server.port, "")).rejects.toThrow();
  });

  it("does not start at all when a process cannot start", async () => {
    const child = start(host, "processes-child.ts", []);
    started.push(child.pid ?? 0);
    expect(await lineWith(child, "not started")).toBe("not started: The reason, in one line");
    expect(await exitOf(child)).toBe(1);
  });

  it("refuses in one line what processes cannot share", async () => {
    const memory = run("--data-dir", ":memory:", "--processes", "2", "--no-demo");
    expect(await memory.ended).toBe(2);
    expect(memory.output()).toMatch(/^error: --processes: processes share their state .*\n$/u);
  });
});

describe("processCount()", () => {
  const resuming = { gateway: { resume: {} } };

  always("is one unless said otherwise, and one per core on Linux with auto", () => {
    expect(processCount({})).toBe(1);
    expect(processCount({ processes: 5 }, "linux")).toBe(5);
    expect(() => processCount({ processes: 5 }, "darwin")).toThrow("on Linux only");
    expect(processCount({ processes: "auto" }, "linux")).toBe(Math.min(availableParallelism(), 64));
    expect(processCount({ processes: "auto" }, "darwin")).toBe(1);
  });

  always("is one with a PostgreSQL database", () => {
    const database = "postgres://a/b";
    expect(processCount({ processes: 1, database })).toBe(1);
    expect(() => processCount({ processes: 2, database }, "linux")).toThrow(
      "--processes: one process at a time",
    );
  });

  always("refuses streams that only one of the processes could resume", () => {
    expect(processCount({ processes: 1, ...resuming })).toBe(1);
    expect(() => processCount({ processes: 2, ...resuming }, "linux")).toThrow(
      "--processes: streams",
    );
  });
});

describe("pagesOfEach()", () => {
  always("divides the pages that are rendered at once, and leaves one to each", () => {
    const pages = (maxConcurrency: number, count: number): number =>
      pagesOfEach({ rendering: { maxConcurrency } }, count);
    expect([pages(8, 1), pages(8, 3), pages(2, 4)]).toEqual([8, 2, 1]);
    expect(pagesOfEach({}, 1)).toBe(availableParallelism());
  });
});

describe("checkReusePort()", () => {
  always("names the system that cannot share a port", () => {
    expect(() => checkReusePort({ reusePort: true }, "darwin")).toThrow(
      "Processes can share a port on Linux only, and this is darwin: leave out --processes (or reusePort)",
    );
    expect(() => checkReusePort({}, "darwin")).not.toThrow();
    expect(() => checkReusePort({ reusePort: true }, "linux")).not.toThrow();
  });
});
