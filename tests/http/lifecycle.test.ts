import { spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually, LONG } from "../cases/eventually.ts";
import { commandOf, noBrowser, startTarget, targetName } from "./target.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

const target = targetName();
const folder = mkdtempSync(join(tmpdir(), "causey-lifecycle-"));
let upstream: Upstream;

beforeAll(async () => {
  upstream = await startUpstream();
});
afterAll(async () => {
  await upstream.close();
  rmSync(folder, { recursive: true, force: true });
});

function configFile(name: string, config: unknown): string {
  const path = join(folder, `${name}.json`);
  writeFileSync(path, JSON.stringify(config));
  return path;
}

function run(...args: string[]): { code: number | null; lines: string[] } {
  const [file = "", ...fixed] = commandOf(target);
  const { status, stdout, stderr } = spawnSync(file, [...fixed, ...args], {
    encoding: "utf8",
    timeout: LONG.timeout / 2,
  });
  return { code: status, lines: `${stdout}${stderr}`.split("\n").filter((line) => line !== "") };
}

describe("starting", () => {
  it("prints at most twelve lines, and the token only the first time", LONG, async () => {
    const dataDir = join(folder, "first");
    const first = await startTarget({
      dataDir,
      demo: true,
      args: ["--host", "127.0.0.1"],
      env: { ...noBrowser, CAUSEY_TOKEN: "" },
    });
    const firstLines = first.output().trim().split("\n");
    await first.stop();
    const second = await startTarget({
      dataDir,
      demo: true,
      env: { ...noBrowser, CAUSEY_TOKEN: "" },
    });
    const secondOutput = second.output();
    await second.stop();
    expect(firstLines.length).toBeLessThanOrEqual(12);
    const token = /Token\s+(causey_\S+)/.exec(firstLines.join("\n"))?.[1];
    expect(token).toBeDefined();
    expect(secondOutput).not.toContain(token);
    expect(statSync(join(dataDir, "token")).mode & 0o777).toBe(0o600);
  });

  it("a taken port is one line that says what to do, and exit code 1", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const { code, lines } = run(
      "--port",
      String(port),
      "--data-dir",
      join(folder, "taken"),
      "--no-demo",
    );
    server.close();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("--port");
    expect(code).toBe(1);
  });

  it("an unknown option is one line that offers the right one, and exit code 2", () => {
    expect(run("--prot", "1")).toEqual({
      code: 2,
      lines: ['error: Unknown option "--prot": did you mean "port"?'],
    });
  });

  it("an unknown configuration key is one line that offers the right one, and exit code 2", () => {
    const path = configFile("typo", { gateway: { provider: {} } });
    const { code, lines } = run("--config", path, "--data-dir", join(folder, "typo"));
    expect(lines).toEqual([
      'error: Unknown configuration key "gateway.provider": did you mean "providers"?',
    ]);
    expect(code).toBe(2);
  });

  it("--help names every option and variable", () => {
    const { code, lines } = run("--help");
    const text = lines.join("\n");
    for (const name of [
      "--port",
      "CAUSEY_PORT",
      "--data-dir",
      "CAUSEY_DATA_DIR",
      "--account-id",
      "CAUSEY_TOKEN",
      "--config",
      "--no-demo",
    ]) {
      expect(text).toContain(name);
    }
    expect(code).toBe(0);
  });
});

describe("stopping", () => {
  it("SIGTERM lets a stream under way finish, keeps its row and exits with 0", LONG, async () => {
    const gateway = {
      providers: { openai: { baseUrl: `${upstream.url}/v1` } },
      gateways: { open: { authentication: false } },
    };
    const token = "lifecycle-token-with-every-permission";
    const options = {
      dataDir: join(folder, "stream"),
      args: ["--config", configFile("stream", { demo: false, gateway })],
      env: { ...noBrowser, CAUSEY_TOKEN: token },
    };
    const server = await startTarget(options);
    const response = await fetch(`${server.url}/v1/local/open/openai/chat/completions`, {
      method: "POST",
      headers: { "x-test-mode": "slow", "content-type": "application/json" },
      body: '{"model":"m","messages":[],"stream":true}',
    });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await reader.read()).value ?? "";
    const stopped = server.stop();
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
    expect(text).toContain("data: [DONE]");
    expect(await stopped).toBe(0);
    const again = await startTarget(options);
    const id = response.headers.get("cf-aig-log-id");
    const row = await fetch(
      `${again.url}/client/v4/accounts/local/ai-gateway/gateways/open/logs/${id}`,
      { headers: { authorization: `Bearer ${token}` } },
    );
    expect(row.status).toBe(200);
    await again.stop();
  });
});

describe("stopping under load", () => {
  it("keeps the row and the figures of every request that was answered", LONG, async () => {
    const token = "lifecycle-token-with-every-permission";
    const path = configFile("load", {
      gateway: {
        metrics: true,
        providers: { openai: { baseUrl: `${upstream.url}/v1` } },
        gateways: { open: { authentication: false } },
      },
    });
    const options = {
      dataDir: join(folder, "load"),
      args: ["--config", path, "--no-demo"],
      env: { ...noBrowser, CAUSEY_TOKEN: token },
    };
    const server = await startTarget(options);
    const answered = new Set<string>();
    const asking = Array.from({ length: 8 }, () => askOnAndOn(server.url, answered));
    while (answered.size < 20) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await server.stop()).toBe(0);
    await Promise.all(asking);
    const again = await startTarget(options);
    const authorized = { headers: { authorization: `Bearer ${token}` } };
    const management = `${again.url}/client/v4/accounts/local/ai-gateway`;
    const lost: string[] = [];
    for (const id of answered) {
      const { status } = await fetch(`${management}/gateways/open/logs/${id}`, authorized);
      if (status !== 200) lost.push(id);
    }
    expect(lost).toEqual([]);
    const text = await (await fetch(`${management}/metrics`, authorized)).text();
    const tries = text.match(/^causey_gateway_requests_total\{.*\} (\d+)$/gmu) ?? [];
    const counted = tries.reduce((sum, line) => sum + Number(/\d+$/u.exec(line)?.[0]), 0);
    expect(counted).toBeGreaterThanOrEqual(answered.size);
    await again.stop();
  });
});

/** Sends requests until there is nobody to send them to; notes the log id of each that was answered. */
async function askOnAndOn(url: string, answered: Set<string>): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/v1/local/open/openai/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "test-model", messages: [{ role: "user", content: "hello" }] }),
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

describe("a crash", () => {
  it("SIGKILL during a webhook burst loses no acknowledged event", LONG, async () => {
    const secret = "crash-secret-0123456789";
    const sources = {
      crash: { scheme: "generic", secret, entity: { from: "payload", path: "entity" } },
    };
    const path = configFile("crash", { demo: false, webhooks: { sources } });
    const token = "crash-token-0123456789abcdef";
    const options = {
      dataDir: join(folder, "crash"),
      args: ["--config", path],
      env: { ...noBrowser, CAUSEY_TOKEN: token },
    };
    const acknowledged = new Set<string>();
    for (let round = 0; round < 3; round++) {
      const server = await startTarget(options);
      await burst(server.url, secret, acknowledged, round, () => server.kill());
    }
    expect(acknowledged.size).toBeGreaterThan(20);
    const server = await startTarget(options);
    const stored = new Set(await storedIds(server.url, token));
    await server.stop();
    expect([...acknowledged].filter((id) => !stored.has(id))).toEqual([]);
  });
});

/** Enough that none takes more events than one answer lists. */
const ENTITIES = 50;

/** Sends events from 16 connections and kills the server in the middle; notes every id that was answered 2xx. */
async function burst(
  url: string,
  secret: string,
  acknowledged: Set<string>,
  round: number,
  kill: () => Promise<void>,
): Promise<void> {
  const before = acknowledged.size;
  let dead = false;
  let n = 0;
  const worker = async (): Promise<void> => {
    while (!dead) {
      const id = `${round}-${n++}`;
      const body = JSON.stringify({ entity: `e${n % ENTITIES}`, id, type: "burst" });
      const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
      const response = await fetch(`${url}/webhooks/crash`, {
        method: "POST",
        headers: { "x-signature": signature, "x-webhook-id": id },
        body,
      }).catch(() => null);
      if (response?.ok === true) acknowledged.add(id);
      else if (response === null) dead = true;
    }
  };
  const workers = Array.from({ length: 16 }, worker);
  await eventually(() => acknowledged.size >= before + 50 * (round + 1), "many are acknowledged");
  await kill();
  await Promise.all(workers);
}

async function storedIds(url: string, token: string): Promise<string[]> {
  const ids: string[] = [];
  for (let entity = 0; entity < ENTITIES; entity++) {
    const answer = await fetch(
      `${url}/client/v4/accounts/local/webhooks/events?entity=e${entity}&limit=1000&source=crash`,
      {
        headers: { authorization: `Bearer ${token}` },
      },
    );
    const { result } = (await answer.json()) as { result: { payload: string }[] };
    for (const event of result) ids.push((JSON.parse(event.payload) as { id: string }).id);
  }
  return ids;
}
