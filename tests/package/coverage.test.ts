import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LONG } from "../cases/eventually.ts";
import { root } from "../config/shared.ts";

test("npm run test:node -- FILE --coverage writes what the file covers", LONG, () => {
  const folder = mkdtempSync(join(tmpdir(), "causey-coverage-"));
  try {
    const run = ["run", "tests/unit/runtime.test.ts", "--coverage"];
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ["node_modules/vitest/vitest.mjs", ...run, `--coverage.reportsDirectory=${folder}`],
      { cwd: root, encoding: "utf8" },
    );
    expect(status, stdout + stderr).toBe(0);
    expect(stdout).toMatch(/Lines +: \d/u);
    expect(existsSync(join(folder, "index.html"))).toBe(true);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
