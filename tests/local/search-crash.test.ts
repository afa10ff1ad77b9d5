import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, onTestFinished } from "vitest";
import { LONG } from "../cases/eventually.ts";
import { itUnless } from "../config/it-unless.ts";
import { exitOf, lineWith, missing, runtimesAbove, start } from "./runtimes.ts";

describe.each(runtimesAbove)("a server on %s that is killed while it makes vectors", (runtime) => {
  itUnless(missing(runtime) || undefined)(
    "goes on at once after its restart: no lease of its former life holds it up",
    LONG,
    async () => {
      const dataDir = mkdtempSync(join(inject("scratch"), "search-crash-"));
      const first = start(runtime, "search-crash-child.ts", [runtime, dataDir, "hang"]);
      onTestFinished(() => void first.kill("SIGKILL"));
      expect(await lineWith(first, "uploaded")).toBe("uploaded 3");
      first.kill("SIGKILL");
      await exitOf(first);
      const second = start(runtime, "search-crash-child.ts", [runtime, dataDir, "work"]);
      onTestFinished(() => void second.kill("SIGKILL"));
      const [, count, ms] = (await lineWith(second, "vectors")).split(" ");
      expect(count).toBe("3");
      // A lease lasts two minutes from the upload, before the child began to count.
      expect(Number(ms)).toBeLessThan(100_000);
      expect(await exitOf(second)).toBe(0);
    },
  );
});
