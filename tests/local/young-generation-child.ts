// Sets up V8's young generation as `causey serve` does, and prints what became of it.
import process from "node:process";
import { setUpYoungGeneration } from "../../adapters/cli/young-generation.ts";

setUpYoungGeneration();
const { pid, execArgv, argv } = process;
process.stdout.write(`${JSON.stringify({ pid, execArgv, args: argv.slice(2) })}\n`);
