import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject } from "vitest";
import { LONG } from "../../cases/eventually.ts";
import { itUnless } from "../../config/it-unless.ts";
import { exitOf, lineWith, missing, runtimes, start } from "../runtimes.ts";

describe.each(runtimes)("a process on %s that asked a long query", (runtime) => {
  itUnless(missing(runtime) || undefined)(
    "closes its database before it ends, although nothing else keeps it alive",
    LONG,
    async () => {
      const path = join(mkdtempSync(join(inject("scratch"), "readers-end-")), "a.db");
      const child = start(runtime, "readers-child.ts", [path]);
      const ended = exitOf(child);
      expect(await Promise.race([lineWith(child, "closed"), ended])).toBe("closed");
      expect(await ended).toBe(0);
    },
  );
});
