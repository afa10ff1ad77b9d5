// Unit tests on Node without those that wait: `npm run test:quick`. It says what it leaves out.
import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { slowTests } from "../tests/config/slow.ts";

console.log(
  `Left to npm test: the other runtimes, all suites but tests/unit, and ${slowTests.length} unit files that take seconds (tests/config/slow.ts).`,
);
const excluded = slowTests.flatMap((path) => ["--exclude", path]);
const { status } = spawnSync(
  process.execPath,
  ["node_modules/vitest/vitest.mjs", "run", "tests/unit/", ...excluded, ...process.argv.slice(2)],
  {
    env: { ...process.env, CAUSEY_TEST_WORKERS: String(availableParallelism()) },
    stdio: "inherit",
  },
);
process.exitCode = status ?? 1;
