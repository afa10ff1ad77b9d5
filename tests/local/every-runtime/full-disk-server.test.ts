import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject } from "vitest";
import { LONG } from "../../cases/eventually.ts";
import { itUnless } from "../../config/it-unless.ts";
import { canMount, onSmallDisk } from "../small-disk.ts";
import { commandLine, fileCommand, missing, runtimes } from "../runtimes.ts";

describe.each(runtimes)("causey serve on %s, on a full disk", (runtime) => {
  const reason = canMount
    ? missing(runtime) || undefined
    : "This machine lets nobody mount a file system of its own";
  itUnless(reason)("reads, deletes, names the disk to others, and starts", LONG, () => {
    const folder = join(inject("scratch"), `server-full-${crypto.randomUUID()}`);
    mkdirSync(folder);
    const serve = commandLine(runtime, ["serve", "--port", "0", "--data-dir", folder]);
    const command = [...fileCommand("node", "full-disk-server-child.ts", [folder]), ...serve];
    // Any executable stands in for the browser.
    const env = { ...process.env, CAUSEY_CHROMIUM_PATH: process.execPath };
    const [file, ...args] = onSmallDisk(folder, command);
    const { status, stdout, stderr } = spawnSync(file, args, { encoding: "utf8", env });
    expect([status, stderr]).toEqual([0, ""]);
    // Of an event and of a search instance: the status, whether the answer names the disk, whether it has `Retry-After`.
    const stores = [
      [503, true, true],
      [503, true, true],
    ];
    expect(JSON.parse(stdout)).toEqual({
      before: [200],
      stores,
      reads: [200, 200, 200],
      deletes: { item: 200, token: 200, instance: 200, logs: 200 },
      restartedReads: [200, 404],
      restartedStores: stores,
      restartedDeletes: { item: 200, token: 200, gateway: 200 },
      after: 200,
      unhandled: [],
    });
  });
});
