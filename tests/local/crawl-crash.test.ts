import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, onTestFinished } from "vitest";
import { LONG } from "../cases/eventually.ts";
import { itUnless } from "../config/it-unless.ts";
import { exitOf, lineWith, missing, runtimes, start } from "./runtimes.ts";

describe.each(runtimes)("a server on %s that is killed in the middle of a crawl", (runtime) => {
  itUnless(missing(runtime) || undefined)(
    "goes on after its restart, and reads no page again that it had read",
    LONG,
    async () => {
      const dataDir = mkdtempSync(join(inject("scratch"), "crawl-crash-"));
      const first = start(runtime, "crawl-crash-child.ts", [runtime, dataDir, "begin"]);
      onTestFinished(() => void first.kill("SIGKILL"));
      const [, id = ""] = (await lineWith(first, "begun")).split(" ");
      first.kill("SIGKILL");
      await exitOf(first);
      const second = start(runtime, "crawl-crash-child.ts", [runtime, dataDir, "go-on", id]);
      onTestFinished(() => void second.kill("SIGKILL"));
      const [, status, records, asked] = (await lineWith(second, "ended")).split(" ");
      expect([status, records, asked]).toEqual([
        "completed",
        "completed:/,completed:/a,completed:/b,completed:/c,completed:/d",
        "/b,/c,/d",
      ]);
      expect(await exitOf(second)).toBe(0);
    },
  );
});
