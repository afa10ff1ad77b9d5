import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject } from "vitest";
import { LONG } from "../../cases/eventually.ts";
import { itUnless } from "../../config/it-unless.ts";
import { fileCommand, missing, runtimes } from "../runtimes.ts";
import { canMount, onSmallDisk } from "../small-disk.ts";

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
      const command = fileCommand(runtime, "full-disk-child.ts", [folder]);
      const [file, ...args] = onSmallDisk(folder, command);
      const { status, stdout, stderr } = spawnSync(file, args, { encoding: "utf8" });
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
