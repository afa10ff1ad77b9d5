import process from "node:process";
import type { Log } from "../../../core/ports.ts";
import { logWriter, type LogWriter } from "./log-writer.ts";
import { standardTarget } from "./standard-target.ts";

/** Writes each entry as one JSON line on standard error. */
export const jsonLog: Log = (level, message, fields) => {
  standardError.write(
    `${JSON.stringify({ time: new Date().toISOString(), level, message, ...fields })}\n`,
  );
};

/** Standard error of this process, where the log goes. */
export const standardError: LogWriter = standardWriter(2);

/** Standard output of this process. */
export const standardOutput: LogWriter = standardWriter(1);

function standardWriter(descriptor: 1 | 2): LogWriter {
  const writer = logWriter((onReady) => {
    process.on("exit", () => writer.flush());
    return standardTarget(descriptor, onReady);
  }, jsonLog);
  return writer;
}
