import { ApiError } from "../../../core/http/api-error.ts";
import { errorResponse } from "../../../core/http/envelope.ts";
import { standardError } from "../log/standard-log.ts";

/** A running server, as {@link serve} of any runtime returns it. */
export interface Served {
  readonly url: string;
  readonly port: number;
  /** Drains and closes, as SIGTERM does, without ending the process. */
  close(): Promise<void>;
}

/** An app as `serve()` takes it: a Hono app, or anything else with a `fetch`. */
export interface FetchApp {
  fetch(request: Request, env?: unknown): Response | Promise<Response>;
}

/** Options of `serve()` on Node, Deno and Bun. */
export interface ServeOptions {
  /** The port to listen on; 0 takes any free port. @default 8787 */
  readonly port?: number;
  /** The address to listen on; `0.0.0.0` is every network. @default "127.0.0.1" */
  readonly hostname?: string;
  /**
   * Lets other processes of this user listen on the same port, if they set this too: the system distributes the connections
   * (SO_REUSEPORT, socket(7)). Linux only; Deno needs `--unstable-net`. @default false
   */
  readonly reusePort?: boolean;
  /** Aborting it closes the server. @default none */
  readonly signal?: AbortSignal;
  /** How long running requests and streams may go on after a shutdown has begun, in ms. @default 10000 */
  readonly graceMs?: number;
  /** The platform, closed last, also by `close()`. After a process signal all open platforms are closed. @default none */
  readonly platform?: Closable;
  /** Whether SIGTERM and SIGINT drain and then end the process with 0. @default true */
  readonly handleSignals?: boolean;
  /** Called once the port is open. */
  readonly onListen?: (served: Served) => void;
}

/** Refuses bytes above this in a request's head, in bytes. */
export const MAX_HEADER_BYTES: number = 32 * 1024;
/** How long a client may take to send the head of a request, in ms. */
export const HEADERS_TIMEOUT_MS: number = 15_000;

interface Closable {
  close(): Promise<void>;
}

/**
 * Platforms of this process, each with how to announce its end: an app does not tell which it stands on, and
 * at the end all have to flush.
 */
const open = new Map<Closable, () => void>();

/**
 * Closes the platform when a process signal ends the process; returns how to take that back. `announce` is called first: it
 * ends endless streams, so that only finite answers are waited for. The platform opened last is closed first, as it may
 * need those before it.
 */
export function closeAtEnd(platform: Closable, announce: () => void): () => void {
  open.set(platform, announce);
  return () => open.delete(platform);
}

/** The servers of this process that a signal ends. */
const serving = new Set<(exitCode: number) => void>();

/** Drains as after SIGTERM, but ends the process with 1: a supervisor is to start another version. Without a server nothing happens. */
export function endServing(): void {
  for (const end of serving) end(1);
}

/** The end of a server, in two steps between which the platform closes its sockets with 1001. */
export interface Ending {
  /** Stops accepting and waits, within the grace, for answers under way. */
  finish(): Promise<void>;
  /** Drops the rest. */
  stop(): Promise<void>;
}

/** Options of `closeServer()` on Node, Deno and Bun. */
export interface CloseServerOptions {
  /** Closed once the answers under way are written. @default none */
  readonly platform?: Closable;
  /** How long running requests and streams may go on, in ms. @default 10000 */
  readonly graceMs?: number;
}

/** Runs the steps of an end in order: endless streams, answers under way, the platforms with their sockets, the rest. */
export async function endInOrder(ending: Ending, platforms: readonly Closable[]): Promise<void> {
  for (const platform of platforms) open.get(platform)?.();
  await ending.finish();
  for (const platform of platforms.toReversed()) await platform.close();
  await ending.stop();
}

/**
 * Ends the server once, on the first of `close()`, the signal, SIGTERM and SIGINT. After a process signal the process ends
 * with 0; a second one ends it at once.
 */
export function onceDrained(ending: Ending, options: ServeOptions): () => Promise<void> {
  const names = ["SIGTERM", "SIGINT"] as const;
  let ended: Promise<void> | undefined;
  const onSignal = (name: "SIGTERM" | "SIGINT"): void => {
    if (ended !== undefined) process.exit(name === "SIGINT" ? 130 : 143);
    endProcess(0);
  };
  const endProcess = (exitCode: number): void => {
    if (ended !== undefined) return;
    ended = endInOrder(ending, [...open.keys()]);
    ended.then(
      () => process.exit(exitCode),
      (error: unknown) => {
        standardError.write(`Shutdown failed: ${String(error)}\n`);
        process.exit(1);
      },
    );
  };
  const close = (): Promise<void> => {
    const platforms = options.platform === undefined ? [] : [options.platform];
    ended ??= endInOrder(ending, platforms).finally(() => {
      for (const name of names) process.off(name, onSignal);
      serving.delete(endProcess);
    });
    return ended;
  };
  if (options.handleSignals !== false) {
    for (const name of names) process.on(name, onSignal);
    serving.add(endProcess);
  }
  options.signal?.addEventListener("abort", () => void close(), { once: true });
  return close;
}

/** Throws one line where the system does not deal the connections of a port out to several processes. */
export function checkReusePort(
  { reusePort }: ServeOptions,
  system: string = process.platform,
): void {
  if (reusePort !== true || system === "linux") return;
  throw new Error(
    `Processes can share a port on Linux only, and this is ${system}: leave out --processes (or reusePort)`,
  );
}

/** Returns the message for a port that cannot be opened: one line that says what to do. */
export function listenError(error: unknown, hostname: string, port: number): Error {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const message = error instanceof Error ? error.message : String(error);
  if (code === "EADDRINUSE" || /in use|AddrInUse/iu.test(message)) {
    return new Error(
      `Port ${port} on ${hostname} is in use: stop what listens there, or choose another with --port (0 = any free one)`,
      { cause: error },
    );
  }
  if (code === "EACCES" || /permission/iu.test(message)) {
    return new Error(
      `Port ${port} on ${hostname} may not be opened by this user: choose one above 1023 with --port`,
      { cause: error },
    );
  }
  if (
    code === "EADDRNOTAVAIL" ||
    code === "ENOTFOUND" ||
    /not available|AddrNotAvailable/iu.test(message)
  ) {
    return new Error(`${hostname} is not an address of this machine: choose another with --host`, {
      cause: error,
    });
  }
  return new Error(`Cannot listen on ${hostname}:${port}: ${message.replaceAll(/\s+/gu, " ")}`, {
    cause: error,
  });
}

/**
 * Returns a 400 for a request with two framings (RFC 9112 section 6.1: a sign of request smuggling). Node's parser refuses
 * it by itself.
 */
export function refuseAmbiguous({ headers }: Request): Response | undefined {
  if (!headers.has("transfer-encoding") || !headers.has("content-length")) return undefined;
  return errorResponse(new ApiError("ambiguous_framing"), "api", { connection: "close" });
}

/** Returns the URL of a listening address. */
export function urlOf(hostname: string, port: number): string {
  return `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}
