import { spawn, spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, inject, it } from "vitest";
import { openSqlite } from "../../adapters/shared/sqlite/open-sqlite.ts";
import { eventually } from "../cases/eventually.ts";
import { itUnless } from "../config/it-unless.ts";
import { host } from "../config/shared.ts";
import { seed } from "./command/run-command.ts";
import { commandLine, type CommandChild } from "./runtimes.ts";

interface Line {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>> | undefined;
}

describe("a database that takes no writes", () => {
  it("says so once when it is full, and once when it is no longer", async () => {
    const lines: Line[] = [];
    const path = join(inject("scratch"), `full-${crypto.randomUUID()}.db`);
    const db = openSqlite(path, {
      log: (level, message, fields) => void lines.push({ level, message, fields }),
      probeMs: 20,
    });
    db.exec("CREATE TABLE t (b BLOB)");
    expect(db.failure?.()).toBeNull();
    db.exec("PRAGMA max_page_count = 10");
    const row = { sql: "INSERT INTO t (b) VALUES (?)", params: [new Uint8Array(100_000)] };
    const failed = await Promise.allSettled([db.batch([row]), db.batch([row]), db.batch([row])]);
    await expect(db.batch([row])).rejects.toMatchObject({ reason: "full", isReported: true });
    expect(failed.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(db.failure?.()).toBe("database or disk is full");
    expect(lines).toEqual([
      {
        level: "error",
        message: expect.stringMatching("takes no writes"),
        fields: { reason: "database or disk is full" },
      },
    ]);

    db.exec("PRAGMA max_page_count = 100000");
    await eventually(() => db.failure?.() === null, "the database takes writes again");
    expect(lines.map(({ level }) => level)).toEqual(["error", "info"]);
    expect(await db.batch([row])).toMatchObject([{ changes: 1 }]);
    await db.close();
  });

  it("says so when it is read-only, and stays so while writes fail", async () => {
    const lines: string[] = [];
    const path = join(inject("scratch"), `read-only-${crypto.randomUUID()}.db`);
    const db = openSqlite(path, { log: (_, message) => void lines.push(message), probeMs: 20 });
    db.exec("CREATE TABLE t (a); PRAGMA query_only = ON");
    const row = { sql: "INSERT INTO t VALUES (1)" };
    await expect(db.batch([row])).rejects.toMatchObject({ reason: "full" });
    expect(db.failure?.()).toBe("attempt to write a readonly database");
    db.exec("PRAGMA query_only = OFF");
    await eventually(() => lines.length === 2, "both lines");
    expect(await db.batch([row])).toMatchObject([{ changes: 1 }]);
    await db.close();
  });

  it("calls no wrong statement a full disk", async () => {
    const lines: string[] = [];
    const db = openSqlite(":memory:", { log: (_, message) => void lines.push(message) });
    db.exec("CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1)");
    await expect(db.batch([{ sql: "INSERT INTO t VALUES (1)" }])).rejects.toThrow();
    await expect(db.batch([{ sql: "INSERT INTO nowhere VALUES (1)" }])).rejects.toThrow();
    expect([db.failure?.(), lines]).toEqual([null, []]);
    await db.close();
  });
});

const hasPrlimit = process.platform === "linux" && spawnSync("prlimit", ["--version"]).status === 0;
const started: CommandChild[] = [];
afterEach(() => {
  for (const child of started.splice(0)) if (child.exitCode === null) child.kill("SIGKILL");
});

describe(`causey serve on ${host}`, () => {
  itUnless(hasPrlimit ? undefined : "prlimit(1) limits the size of files on Linux only")(
    "tells of a full disk in one line, is not ready meanwhile, and recovers by itself",
    async () => {
      const folder = join(inject("scratch"), `full-disk-${crypto.randomUUID()}`);
      await seed(folder);
      // SIGXFSZ would end the process, where a full disk only fails the write.
      const command = ["serve", "--port", "0", "--data-dir", folder];
      const child = spawn(
        "sh",
        ["-c", `trap '' XFSZ; exec "$@"`, "sh", ...commandLine(host, command)],
        {
          env: { ...process.env, CAUSEY_CHROMIUM_PATH: process.execPath },
          stdio: ["ignore", "pipe", "pipe"],
        },
      );
      started.push(child);
      const text = { out: "", err: "" };
      child.stdout.setEncoding("utf8").on("data", (chunk: string) => (text.out += chunk));
      child.stderr.setEncoding("utf8").on("data", (chunk: string) => (text.err += chunk));
      await eventually(() => /^Retired .*\n/mu.test(text.out), "the start lines");
      const url = /http:\/\/127\.0\.0\.1:\d+/u.exec(text.out)?.[0] ?? "";
      const secret = readFileSync(join(folder, "demo-webhook-secret"), "utf8").trim();
      const send = async (): Promise<number> => {
        const body = JSON.stringify({ entity: "full", type: "hello", text: "x".repeat(1000) });
        const signature = createHmac("sha256", secret).update(body).digest("hex");
        const headers = {
          "x-signature": `sha256=${signature}`,
          "content-type": "application/json",
        };
        const response = await fetch(`${url}/webhooks/demo`, { method: "POST", headers, body });
        await response.body?.cancel();
        return response.status;
      };
      const ready = () => fetch(`${url}/readyz`);
      const limit = (bytes: string): void => {
        const args = ["--pid", String(child.pid), `--fsize=${bytes}:unlimited`];
        expect(spawnSync("prlimit", args, { encoding: "utf8" }).stderr).toBe("");
      };
      // The machine that runs this may lack fonts, which is told once.
      const isOther = (line: string): boolean =>
        !/"message":"(?:Request|Fonts of the browser)"/u.test(line);
      const lines = (): string[] =>
        text.err.split("\n").filter((line) => line !== "" && isOther(line));

      expect(await send()).toBeLessThan(300);
      expect((await ready()).status).toBe(200);
      limit("1");
      const statuses = await Promise.all(Array.from({ length: 60 }, send));
      expect(new Set(statuses)).toEqual(new Set([503]));
      const answer = await ready();
      expect(answer.status).toBe(503);
      expect(await answer.json()).toMatchObject({
        status: "unavailable",
        reason: expect.stringMatching(/^The database takes no writes: /u),
      });
      await eventually(() => lines().length > 0, "a line");
      expect(lines().filter((line) => line.includes("takes no writes"))).toHaveLength(1);
      expect(lines()).toEqual([expect.stringContaining("takes no writes")]);

      limit("unlimited");
      await eventually(async () => (await ready()).status === 200, "the server is ready again");
      expect(await send()).toBeLessThan(300);
      await eventually(() => lines().length > 1, "the second line");
      expect(lines()[1]).toContain("takes writes again");
      expect(lines()).toHaveLength(2);
    },
  );
});
