import { spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect } from "vitest";
import { eventually, LONG } from "../cases/eventually.ts";
import { itUnless } from "../config/it-unless.ts";
import { noBrowser, startTarget, type Target } from "./target.ts";

/** A file system of its own, in memory, which only this command sees. */
const small = (folder: string): string[] => [
  "unshare",
  "-rm",
  "sh",
  "-c",
  `mount -t tmpfs -o size=64m tmpfs '${folder}' && exec "$@"`,
  "sh",
];

const folder = mkdtempSync(join(tmpdir(), "causey-full-"));
const canMount =
  spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "tmpfs", folder]).status === 0;
const servers: Target[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  rmSync(folder, { recursive: true, force: true });
});

/** Writes until the disk takes no more. */
function fill(path: string): void {
  const file = openSync(path, "w");
  try {
    for (;;) writeSync(file, new Uint8Array(4096));
  } catch (error) {
    expect(error).toMatchObject({ code: "ENOSPC" });
  } finally {
    closeSync(file);
  }
}

describe("a full disk", () => {
  itUnless(canMount ? undefined : "This machine lets nobody mount a file system of its own")(
    "is told of in one line, makes the server not ready, and passes by itself",
    LONG,
    async () => {
      const server = await startTarget({
        dataDir: folder,
        demo: true,
        runBy: small(folder),
        env: noBrowser,
      });
      servers.push(server);
      const inside = `/proc/${server.child.pid}/root${folder}`;
      const secret = readFileSync(join(inside, "demo-webhook-secret"), "utf8").trim();
      const send = async (entity: string): Promise<number> => {
        const body = JSON.stringify({ entity, type: "hello", text: "x".repeat(70_000) });
        const signature = createHmac("sha256", secret).update(body).digest("hex");
        const headers = {
          "x-signature": `sha256=${signature}`,
          "content-type": "application/json",
        };
        const url = `${server.url}/webhooks/demo`;
        const response = await fetch(url, { method: "POST", headers, body });
        await response.body?.cancel();
        return response.status;
      };
      const ready = async () => {
        const response = await fetch(`${server.url}/readyz`);
        return { status: response.status, body: await response.json() };
      };
      const said = (text: string): string[] =>
        server
          .output()
          .split("\n")
          .filter((line) => line.startsWith("{") && line.includes(text));

      expect(await send("full")).toBe(200);
      expect((await ready()).status).toBe(200);
      fill(join(inside, "fill"));
      // Of an entity that has a database, and of some that would need one.
      const entities = ["full", "full", ...Array.from({ length: 20 }, (_, n) => `new-${n}`)];
      const statuses: number[] = [];
      for (const entity of entities) statuses.push(await send(entity));
      expect(new Set(statuses)).toEqual(new Set([503]));
      expect(await ready()).toMatchObject({
        status: 503,
        body: {
          status: "unavailable",
          reason: expect.stringMatching(/^The database takes no writes: .*disk is full/u),
        },
      });
      expect(said("takes no writes")).toHaveLength(1);
      expect(said("Unhandled error")).toEqual([]);

      rmSync(join(inside, "fill"));
      await eventually(async () => (await ready()).status === 200, "the server is ready again");
      expect(await send("full")).toBe(200);
      expect(await send("new-1")).toBe(200);
      await eventually(() => said("takes writes again").length === 1, "the second line");
      expect(said("Unhandled error")).toEqual([]);
    },
  );
});
