import { readFileSync } from "node:fs";
import process from "node:process";

/**
 * The command line of this process as the system knows it, to start further ones with: with the runtime's own options, and
 * however this file was named there. Throws one line where that may not be read: on Deno it takes all permissions.
 */
export function ownCommandLine(): readonly string[] {
  try {
    const [, ...args] = readFileSync("/proc/self/cmdline", "utf8").split("\0").slice(0, -1);
    return [process.execPath, ...args];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `--processes: this process may not start others like itself (${reason}): on Deno, start with \`deno run -A --unstable-net …\``,
      { cause: error },
    );
  }
}
