import process from "node:process";

/** How far something is. */
export interface ProgressBar {
  /** Writes where it stands; on a terminal over the line before. */
  at(done: number, bytes?: number): void;
  /** Takes the line away, and writes what is to stay, if anything is. */
  end(text: string): void;
}

/** How a {@link progress} reckons and writes. */
export interface ProgressOptions {
  /** Steps that there are. */
  readonly total: number;
  /** The unit of a step, e.g. `files`; empty where bytes say all. */
  readonly unit: string;
  /** Bytes that there are, where steps have a size: then rate and remaining time go by them. @default none */
  readonly totalBytes?: number;
  readonly write?: (text: string) => void;
  /** Whether lines can be written over. @default whether standard error is a terminal */
  readonly isTerminal?: boolean;
  /** Milliseconds of a steady clock. */
  readonly now?: () => number;
}

const BAR = 20;
/** Milliseconds between two lines, of a terminal and of a file. */
const PAUSE = { terminal: 100, file: 5000 };

/** Makes a bar with count, rate and the time that is left, on standard error: what is on standard output stays data. */
export function progress(options: ProgressOptions): ProgressBar {
  const {
    total,
    unit,
    totalBytes = 0,
    write = (text) => process.stderr.write(text),
    isTerminal = process.stderr.isTTY,
    now = () => performance.now(),
  } = options;
  const began = now();
  let written = isTerminal ? Number.NEGATIVE_INFINITY : began;
  let isOpen = false;
  return {
    at(done, bytes = 0) {
      const time = now();
      const isLast = done >= total;
      if (time - written < (isTerminal ? PAUSE.terminal : PAUSE.file) && !isLast) return;
      written = time;
      const share = totalBytes > 0 ? bytes / totalBytes : total === 0 ? 1 : done / total;
      const seconds = (time - began) / 1000;
      const filled = Math.round(Math.min(1, share) * BAR);
      const text = [
        `[${"#".repeat(filled)}${"-".repeat(BAR - filled)}]`,
        unit === "" ? "" : `${done} of ${total} ${unit}`,
        ...(totalBytes > 0 ? [`${size(bytes)} of ${size(totalBytes)}`] : []),
        rate(totalBytes > 0 ? bytes : done, seconds, totalBytes > 0 ? null : unit),
        share > 0 && share < 1 ? `${duration((seconds / share) * (1 - share))} left` : "",
      ]
        .filter((part) => part !== "")
        .join("  ");
      isOpen = isTerminal;
      write(isTerminal ? `\r\u001b[K${text}` : `${text}\n`);
    },
    end(text) {
      const last = `${isOpen ? "\r\u001b[K" : ""}${text === "" ? "" : `${text}\n`}`;
      if (last !== "") write(last);
    },
  };
}

/** How many bytes are through. */
export interface ByteProgress {
  /** Notes that more bytes are through. */
  readonly more: (bytes: number) => void;
  readonly end: () => void;
}

/** Draws a bar of bytes with rate and remaining time. Into a file, it writes nothing for uploads under five seconds. */
export function byteProgress(
  totalBytes: number,
  options: Omit<Partial<ProgressOptions>, "total" | "totalBytes" | "unit"> = {},
): ByteProgress {
  const bar = progress({ total: 1, unit: "", totalBytes, ...options });
  let through = 0;
  return {
    more(bytes) {
      through += bytes;
      bar.at(0, through);
    },
    end() {
      bar.end("");
    },
  };
}

/** Bytes that every disk copies within a second. */
const QUICK_BYTES = 50_000_000;

/** Says on a terminal what is copied, unless that is quick; the result takes the line away. */
export function copyNotice(
  what: string,
  bytes: number,
  {
    write = (text) => process.stderr.write(text),
    isTerminal = process.stderr.isTTY,
  }: Pick<ProgressOptions, "write" | "isTerminal"> = {},
): () => void {
  if (!isTerminal || bytes < QUICK_BYTES) return () => undefined;
  write(`Copying ${what} (${size(bytes)}) …`);
  return () => write("\r\u001b[K");
}

function rate(done: number, seconds: number, unit: string | null): string {
  if (seconds <= 0 || done === 0) return "";
  return unit === null ? `${size(done / seconds)}/s` : `${(done / seconds).toFixed(1)} ${unit}/s`;
}

/** Formats bytes for people. */
export function size(bytes: number): string {
  const units = ["B", "kB", "MB", "GB"];
  let [value, at] = [bytes, 0];
  for (; value >= 1000 && at < units.length - 1; at++) value /= 1000;
  return `${at === 0 ? Math.round(value) : value.toFixed(1)} ${units[at]}`;
}

/** Formats seconds as minutes and seconds. */
function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  const rest = String(whole % 60).padStart(2, "0");
  return hours === 0
    ? `${minutes}:${rest}`
    : `${hours}:${String(minutes).padStart(2, "0")}:${rest}`;
}
