// Sets up V8's heap as `causey serve` does, and prints what became of it.
import process from "node:process";
import { setUpV8Heap } from "../../adapters/cli/v8-heap.ts";

setUpV8Heap();
const { pid, execArgv, argv } = process;
process.stdout.write(`${JSON.stringify({ pid, execArgv, args: argv.slice(2) })}\n`);
