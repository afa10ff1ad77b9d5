import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { LONG } from "../../cases/eventually.ts";
import { crashRun } from "../crash-run.ts";
import { missing, runtimes } from "../runtimes.ts";

describe("servers that are killed while webhooks arrive", () => {
  // The long version, hundreds of kills: npm run test:soak
  it(
    "keep every acknowledged event once, in order, with its job and its count of attempts",
    LONG,
    async ({ skip }) => {
      const there = runtimes.filter((runtime) => missing(runtime) === false);
      if (there.length === 0) skip("No runtime is installed in tools/");
      const dataDir = mkdtempSync(join(inject("scratch"), "crash-"));
      const totals = await crashRun({ dataDir, kills: 6, runtimes: there, maxLifeMs: 300 });
      expect(totals.violations).toEqual([]);
      expect(totals.acknowledged).toBeGreaterThan(10);
    },
  );
});
