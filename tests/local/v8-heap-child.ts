// Sets up V8's heap as `causey serve` does, and prints what became of it.
import process from "node:process";
import { setUpProcess } from "../../adapters/cli/serve/set-up-process.ts";

setUpProcess();
const { pid, execArgv, argv, env } = process;
process.stdout.write(
  `${JSON.stringify({ pid, execArgv, args: argv.slice(2), regions: env["MALLOC_ARENA_MAX"] })}\n`,
);
