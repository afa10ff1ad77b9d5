import type { Transport } from "./transport.ts";

/** A source of raw Chrome DevTools Protocol connections; one browser may serve many. */
export interface Browser extends BrowserFacts {
  connect(options?: { readonly signal?: AbortSignal }): Promise<Wire>;
  /**
   * Loads documents without a browser, behind the guard and with the allowed hosts of its pages.
   * @default the platform's `egress`
   */
  readonly documents?: Transport;
  /** Does ahead of time what the first `connect` would take long for, e.g. unpacking. */
  prepare?(): Promise<void>;
  close(): Promise<void>;
}

/** What is true of a browser. */
export interface BrowserFacts {
  /** Whether everything that its pages load passes an egress proxy of this platform. @default false */
  readonly guarded?: boolean;
  /** Whether a connection may outlive the request that opened it, so that pages can be made ahead. @default false */
  readonly lasting?: boolean;
  /** What its proxy asks for, once there is a connection; null where none asks. */
  proxyLogin?(): ProxyLogin | null;
  /** What is known to be wrong with it. @default nothing */
  trouble?(): BrowserTrouble;
  /** One line for people: which browser, and how it is guarded. */
  describe?(): Promise<string>;
}

/** What is wrong with a browser. */
export interface BrowserTrouble {
  /** Why it could not be started when it was last needed; null where it could. */
  readonly failure: string | null;
  /** What it lacks although it works, e.g. fonts; null for nothing. */
  readonly lacks: string | null;
}

/** How a browser proves to its proxy that it is not a stranger's. */
export interface ProxyLogin {
  /** An address of the proxy itself: it answers whoever has proved it. */
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

/** One browser-level DevTools connection: whole JSON messages, in order, of any size. */
export interface Wire {
  /** A long message comes in parts, to be taken one at a time so that others go on in between; its first has the head. */
  send(message: string | Iterable<string>): void;
  onMessage(listener: (message: string) => void): void;
  /** Called once, when the connection or the browser is gone. */
  onClose(listener: (reason: string) => void): void;
  close(): void;
  /** Closes the connection and has its browser replaced, because it did not answer in time. @default `close()` */
  kill?(): void;
}
