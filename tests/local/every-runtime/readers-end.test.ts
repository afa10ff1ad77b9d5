import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject } from "vitest";
import { LONG } from "../../cases/eventually.ts";
import { itUnless } from "../../config/it-unless.ts";
import { exitOf, lineWith, missing, runtimes, start } from "../runtimes.ts";

describe.each(
  runtimes.flatMap((runtime) => [
    { runtime, did: "asked a long query", file: "readers-child.ts" },
    { runtime, did: "read a file", file: "isolates-child.ts" },
  ]),
)("a program on $runtime that $did", ({ runtime, file }) => {
  itUnless(missing(runtime) || undefined)(
    "closes all before it ends, although nothing else keeps it alive",
    LONG,
    async () => {
      const path = join(mkdtempSync(join(inject("scratch"), "readers-end-")), "a.db");
      const child = start(runtime, file, [path, runtime]);
      const ended = exitOf(child);
      expect(await Promise.race([lineWith(child, "closed"), ended])).toBe("closed");
      expect(await ended).toBe(0);
    },
  );
});
