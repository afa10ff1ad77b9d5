import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, inject } from "vitest";
import { LONG } from "../cases/eventually.ts";
import { itUnless } from "../config/it-unless.ts";
import { commandLine, missing, runtimes } from "./runtimes.ts";

const canMount =
  process.platform === "linux" &&
  spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "tmpfs", tmpdir()]).status === 0;

describe.each(runtimes)("a really full disk on %s", (runtime) => {
  const reason = canMount
    ? missing(runtime) || undefined
    : "This machine lets nobody mount a file system of its own";
  itUnless(reason)(
    "lets rows be read and deleted, and a database be opened, while it takes none",
    LONG,
    () => {
      const folder = join(inject("scratch"), `really-full-${crypto.randomUUID()}`);
      mkdirSync(folder);
      const child = fileURLToPath(new URL("full-disk-child.ts", import.meta.url));
      const mounted = `mount -t tmpfs -o size=64m tmpfs '${folder}' && exec "$@"`;
      const command = [...commandLine(runtime, []).slice(0, -1), child, folder];
      const { status, stdout, stderr } = spawnSync(
        "unshare",
        ["-rm", "sh", "-c", mounted, "sh", ...command],
        { encoding: "utf8" },
      );
      expect([status, stderr.replaceAll(/^.*Warning.*\n?/gmu, "")]).toEqual([0, ""]);
      const full = "SqlError: database or disk is full";
      expect(JSON.parse(stdout)).toEqual({
        kept: true,
        first: "done",
        stores: [full, full],
        deletes: ["done"],
        reads: 100,
        failure: "database or disk is full",
        restarted: 100,
        storesThen: expect.stringMatching(
          /^SqlError: (?:disk I\/O error|database or disk is full)/u,
        ),
        storesAtLast: "done",
        keptAtLast: true,
      });
    },
  );
});
