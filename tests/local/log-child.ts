// Writes lines as a program with a platform of its own does, and then says on standard output how that went.
import { setImmediate as turn } from "node:timers/promises";
import { jsonLog, standardError } from "../../adapters/shared/log/standard-log.ts";

const lines = Number(process.argv[2]);
for (let at = 0; at < lines; at++) {
  jsonLog("info", "Line", { at, text: "x".repeat(400) });
  if (at % 100 === 0) await turn();
}
process.stdout.write(`${JSON.stringify({ dropped: standardError.dropped() })}\n`);
// The end is asked for, so that the test can read what is held back before.
process.stdin.once("end", () => process.exit(0)).resume();
