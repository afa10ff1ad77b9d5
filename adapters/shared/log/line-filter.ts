import type { Config } from "../../../core/config/config.ts";
import type { Log } from "../../../core/ports.ts";

const levels: readonly Parameters<Log>[0][] = ["debug", "info", "warn", "error"];

/** Returns whether a line is written: its level is high enough, or it is about a part of which everything is asked for. */
export function lineFilter({
  logLevel = "info",
  debug = [],
}: Pick<Config, "logLevel" | "debug">): (
  level: Parameters<Log>[0],
  fields: Parameters<Log>[2],
) => boolean {
  const least = levels.indexOf(logLevel);
  const chosen = new Set<unknown>(debug);
  return (level, fields) => levels.indexOf(level) >= least || chosen.has(fields?.["part"]);
}

/** Returns a log that writes only what a configuration asks for. */
export function filteredLog(log: Log, config: Pick<Config, "log" | "logLevel" | "debug">): Log {
  if (config.log === "off") return () => undefined;
  const isWritten = lineFilter(config);
  return (level, message, fields) => {
    if (isWritten(level, fields)) log(level, message, fields);
  };
}
