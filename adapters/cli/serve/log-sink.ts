import process from "node:process";
import type { Config } from "../../../core/config/config.ts";
import type { Log } from "../../../core/ports.ts";
import { lineFilter } from "../../shared/log/line-filter.ts";
import { standardError } from "../../shared/log/standard-log.ts";

type Level = Parameters<Log>[0];
type Fields = NonNullable<Parameters<Log>[2]>;

/** How entries are written, and where. */
export interface LogSinkOptions {
  readonly format: "json" | "pretty" | "off";
  /** Whether an entry is written. */
  readonly isWritten: ReturnType<typeof lineFilter>;
  readonly colours: boolean;
  readonly write: (text: string) => void;
  /** Does work a moment later. */
  readonly later: (work: () => void) => void;
}

/** The log of a command, and how to write what it holds back. */
export interface LogSink {
  readonly log: Log;
  flush(): void;
}

/** Characters that are held back at most. */
const HELD = 64 * 1024;

/**
 * Writes entries some milliseconds of them at a time: a system call for each line costs more than the line. Warnings and
 * errors are written at once.
 */
export function logSink({ format, isWritten, colours, write, later }: LogSinkOptions): LogSink {
  let held = "";
  const flush = (): void => {
    if (held === "") return;
    const text = held;
    held = "";
    write(text);
  };
  if (format === "off") return { log: () => undefined, flush };
  const lineOf = format === "json" ? jsonLines() : prettyLine(colours);
  const log: Log = (at, message, fields = {}) => {
    if (!isWritten(at, fields)) return;
    const isFirst = held === "";
    held += lineOf(at, message, fields);
    if (at === "warn" || at === "error" || held.length > HELD) flush();
    else if (isFirst) later(flush);
  };
  return { log, flush };
}

/** Milliseconds for which lines are held back. */
const LATER_MS = 20;

/** Returns the log that a configuration asks for, on standard error: for people on a terminal, else JSON. */
export function configuredLog(config: Config): Log {
  const { log } = config;
  const { stderr, env } = process;
  const sink = logSink({
    format: log ?? (stderr.isTTY ? "pretty" : "json"),
    isWritten: lineFilter(config),
    colours: stderr.isTTY && (env["NO_COLOR"] ?? "") === "",
    write: (text) => standardError.write(text),
    later: (work) => setTimeout(work, LATER_MS),
  });
  standardError.tellDropped(sink.log);
  process.on("exit", () => {
    sink.flush();
    standardError.flush();
  });
  return sink.log;
}

type LineOf = (level: Level, message: string, fields: Fields) => string;

/** Puts the line together from parts: copying the fields into one object costs as much as all else. */
function jsonLines(): LineOf {
  let second = 0;
  let prefix = "";
  return (level, message, fields) => {
    const now = Date.now();
    const ms = now % 1000;
    if (now - ms !== second) {
      second = now - ms;
      prefix = new Date(now).toISOString().slice(0, -4);
    }
    const members = JSON.stringify(fields).slice(1);
    const time = `${prefix}${String(ms).padStart(3, "0")}Z`;
    const head = `{"time":"${time}","level":"${level}","message":${JSON.stringify(message)}`;
    return `${head}${members === "}" ? "" : ","}${members}\n`;
  };
}

const colourOf: Readonly<Record<Level, number>> = { debug: 90, info: 36, warn: 33, error: 31 };

function prettyLine(colours: boolean): LineOf {
  const paint = (text: string, colour: number): string =>
    colours ? `\u001b[${colour}m${text}\u001b[0m` : text;
  return (level, message, fields) => {
    const time = paint(new Date().toISOString().slice(11, 23), 90);
    const isRequest = message === "Request" && typeof fields["status"] === "number";
    const what = isRequest
      ? requestText(fields, paint)
      : `${paint(level.toUpperCase().padEnd(5), colourOf[level])} ${message}${rest(fields, [])}`;
    return `${time} ${what}\n`;
  };
}

const inText = ["status", "method", "route", "ms", "part", "bytes"];

function requestText(fields: Fields, paint: (text: string, colour: number) => string): string {
  const { status, method, route, ms, bytes } = fields;
  const colour = Number(status) >= 500 ? 31 : Number(status) >= 400 ? 33 : 32;
  const size = bytes === undefined ? "" : ` ${String(bytes)} B`;
  const time = `${Number(ms).toFixed(1)} ms`;
  return `${paint(String(status), colour)} ${String(method)} ${String(route)} ${time}${size}${rest(fields, inText)}`;
}

/** Writes values as JSON where they hold more than a word: no text can break the line. */
function rest(fields: Fields, shown: readonly string[]): string {
  return Object.entries(fields)
    .filter(([name, value]) => value !== undefined && !shown.includes(name))
    .map(
      ([name, value]) =>
        ` ${name}=${/^[\w.:/-]+$/.test(String(value)) ? String(value) : JSON.stringify(value)}`,
    )
    .join("");
}
