import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, onTestFinished } from "vitest";
import { LONG } from "../cases/eventually.ts";
import { itUnless } from "../config/it-unless.ts";
import { exitOf, lineWith, missing, runtimesAbove, start } from "./runtimes.ts";

describe.each(runtimesAbove)(
  "a server on %s that is killed while it follows a bucket",
  (runtime) => {
    itUnless(missing(runtime) || undefined)(
      "goes on with the same job, and asks for nothing twice that it has",
      LONG,
      async () => {
        const dataDir = mkdtempSync(join(inject("scratch"), "search-source-"));
        const first = start(runtime, "search-source-child.ts", [runtime, dataDir, "hang"]);
        onTestFinished(() => void first.kill("SIGKILL"));
        expect(await lineWith(first, "took")).toBe("took 3");
        first.kill("SIGKILL");
        await exitOf(first);
        const second = start(runtime, "search-source-child.ts", [runtime, dataDir, "work"]);
        onTestFinished(() => void second.kill("SIGKILL"));
        expect(await lineWith(second, "asked")).toBe(
          "asked 6 completed /docs/d.md /docs/e.md /docs/f.md",
        );
        expect(await exitOf(second)).toBe(0);
      },
    );
  },
);
