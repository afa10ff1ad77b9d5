import { spawnSync } from "node:child_process";
import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect } from "vitest";
import { eventually, LONG } from "../cases/eventually.ts";
import { itUnless } from "../config/it-unless.ts";
import { noBrowser, startTarget, targetName, type Target } from "./target.ts";

/** With the lines that they have, more than pipes and the process hold together. */
const REQUESTS = 5000;
const AT_ONCE = 20;
/** How often the server is asked whether it drops lines, which ends the filling. */
const LOOK = 500;

const target = targetName();
const token = "token-of-these-tests-0123456789";
const folder = mkdtempSync(join(tmpdir(), "causey-unread-"));
const servers: Target[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.kill()));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Starts a server with a shell that says where its log goes. */
async function startWith(redirection: string): Promise<Target> {
  const server = await startTarget({
    runBy: ["sh", "-c", `${redirection}; exec "$@"`, "sh"],
    env: { ...noBrowser, CAUSEY_TOKEN: token },
  });
  servers.push(server);
  return server;
}

/** Sends requests, each of which has a line of the log of 400 bytes and more, until lines are dropped. */
async function fillLog(server: Target): Promise<void> {
  const { url } = server;
  const headers = { "x-request-id": "r".repeat(128) };
  const path = `/client/v4/accounts/local/${"n".repeat(200)}`;
  for (let sent = 0; sent < REQUESTS; sent += AT_ONCE) {
    const answers = Array.from({ length: AT_ONCE }, async () => {
      const response = await fetch(`${url}${path}`, { method: "PUT", headers });
      await response.body?.cancel();
      return response.status;
    });
    expect(new Set(await Promise.all(answers))).toEqual(new Set([404]));
    if (target !== "workers" && sent % LOOK === 0 && (await dropped(server)) > 0) break;
  }
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
}

/** What the server says that it has dropped, in a cluster with its name; workerd cannot know what becomes of its lines. */
async function dropped({ url }: Target): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  const text = await (await fetch(`${url}/metrics`, { headers })).text();
  const found = /^causey_log_lines_dropped_total(?:\{[^}]*\})? (\d+)$/mu.exec(text)?.[1];
  return Number(found ?? (target === "workers" ? Infinity : Number.NaN));
}

const hasPipes = process.platform === "linux" && spawnSync("mkfifo", ["--version"]).status === 0;
const onLinux = itUnless(hasPipes ? undefined : "Linux has /dev/full and mkfifo(1)");

describe(`the log of a server on ${target}`, () => {
  onLinux("that no reader reads stops no request, and tells what is missing", LONG, async () => {
    const pipe = join(folder, "pipe");
    // The server holds the reading end itself, and never reads.
    const server = await startWith(`mkfifo '${pipe}'; exec 3<>'${pipe}' 2>'${pipe}'`);
    await fillLog(server);
    expect(await dropped(server)).toBeGreaterThan(0);
    let text = "";
    const reader = createReadStream(pipe, "utf8").on("data", (chunk) => (text += String(chunk)));
    await eventually(
      () => /"message":"\d+ log lines were dropped"/u.test(text),
      "the dropped lines are told",
    );
    reader.destroy();
    expect(await server.stop()).toBe(0);
  });

  onLinux("on a full disk ends no server", LONG, async () => {
    const server = await startWith("exec 2>/dev/full");
    await fillLog(server);
    expect(await dropped(server)).toBeGreaterThan(0);
    expect(await server.stop()).toBe(0);
  });

  onLinux("whose reader is gone ends no server", LONG, async () => {
    const pipe = join(folder, "left");
    const server = await startWith(`mkfifo '${pipe}'; exec 3<>'${pipe}' 2>'${pipe}' 3>&-`);
    await fillLog(server);
    expect(await dropped(server)).toBeGreaterThan(0);
    expect(await server.stop()).toBe(0);
  });
});
