// Takes guards away one at a time (tests/config/mutants.ts) and demands that a test fails: `npm run test:mutants`.
// With arguments, only the mutants whose file or name holds one of them.
import { readFileSync } from "node:fs";
import { mutants } from "../tests/config/mutants.ts";
import { run } from "./step.ts";

const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config"];
const config = "tests/config/vitest.mutants.config.ts";
const wanted = process.argv.slice(2);
const survivors: string[] = [];
let tried = 0;

for (const [index, { name, file, find, tests }] of mutants.entries()) {
  if (wanted.length > 0 && !wanted.some((word) => name.includes(word) || file.includes(word)))
    continue;
  tried += 1;
  // A mutant that cannot be made would count as one that was found.
  if (readFileSync(file, "utf8").split(find).length !== 2) {
    survivors.push(`${name}: ${file} does not hold its text once`);
    console.log(`STALE     ${name}`);
    continue;
  }
  const { ok, seconds } = await run([process.execPath, ...vitest, config, ...tests], {
    CAUSEY_MUTANT: String(index),
  });
  console.log(`${ok ? "SURVIVED " : "found    "} ${name} (${seconds.toFixed(1)} s)`);
  if (ok) survivors.push(`${name}: no test of ${tests.join(", ")} failed`);
}
for (const line of survivors) console.log(line);
console.log(`${tried - survivors.length} passed, ${survivors.length} failed`);
process.exitCode = survivors.length > 0 || tried === 0 ? 1 : 0;
