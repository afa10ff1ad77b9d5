import type { Background } from "../../core/ports.ts";
import { runToEnd } from "../../core/work/background.ts";

/** Reads files in the process of the test, which is where its changes of the sources are; no process has to be started. */
export const readHere: { readonly background: Background } = {
  background: { run: async (task, input) => runToEnd((await task.load())(input)) },
};
