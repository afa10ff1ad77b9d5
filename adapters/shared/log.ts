import type { Log } from "../../core/ports.ts";

/** Writes each entry as one JSON line on standard error. */
export const jsonLog: Log = (level, message, fields) => {
  process.stderr.write(
    `${JSON.stringify({ time: new Date().toISOString(), level, message, ...fields })}\n`,
  );
};
