// Starts further processes as `causey serve --processes` does; none of them gets to listen.
import { parentProcess } from "../../adapters/cli/context/parent-process.ts";
import { ownCommandLine, startChildren } from "../../adapters/cli/serve/start-children.ts";

const parent = parentProcess();
if (parent !== null) {
  parent.failed(new Error("The reason,\nin one line"));
  process.exit(1);
}
const children = startChildren({
  command: ownCommandLine(),
  count: 2,
  port: 1,
  patienceMs: 10_000,
  log: (_level, message) => console.log(message),
});
try {
  await children.listening;
} catch (error) {
  await children.close();
  console.log(`not started: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
