import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, onTestFinished } from "vitest";
import { LONG } from "../cases/eventually.ts";
import { itUnless } from "../config/it-unless.ts";
import { exitOf, lineWith, missing, runtimesAbove, start } from "./runtimes.ts";

const moments = [
  ["reads its pages", "crawl", "reads /,/a,/b,/c", "/c,/d,/e 6+0"],
  ["takes their texts", "take", "took 3", "- 3+3"],
] as const;

describe.each(runtimesAbove)(
  "a server on %s that is killed while it follows a website",
  (runtime) => {
    for (const [name, mode, before, after] of moments) {
      itUnless(missing(runtime) || undefined)(
        `and ${name}, goes on with the same job and does nothing twice`,
        LONG,
        async () => {
          const dataDir = mkdtempSync(join(inject("scratch"), "search-site-"));
          const child = "search-site-child.ts";
          const first = start(runtime, child, [runtime, dataDir, mode]);
          onTestFinished(() => void first.kill("SIGKILL"));
          expect(await lineWith(first, before.split(" ")[0] ?? "")).toBe(before);
          first.kill("SIGKILL");
          await exitOf(first);
          const second = start(runtime, child, [runtime, dataDir, "work"]);
          onTestFinished(() => void second.kill("SIGKILL"));
          expect(await lineWith(second, "ended")).toBe(`ended 6 completed 1 ${after}`);
          expect(await exitOf(second)).toBe(0);
        },
      );
    }
  },
);
