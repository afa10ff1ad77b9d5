import type { Transport } from "./transport.ts";

/** A source of raw Chrome DevTools Protocol connections; one browser may serve many. */
export interface Browser extends BrowserFacts {
  connect(options?: { readonly signal?: AbortSignal }): Promise<Wire>;
  /**
   * Loads documents without a browser, behind the guard and with the allowed hosts of its pages.
   * @default the platform's `egress`
   */
  readonly documents?: Transport;
  /** Does slow steps of the first `connect` in advance, such as unpacking. */
  prepare?(): Promise<void>;
  close(): Promise<void>;
}

/** Facts about a browser. */
export interface BrowserFacts {
  /** Whether everything that its pages load passes an egress proxy of this platform. @default false */
  readonly guarded?: boolean;
  /** Whether a connection may outlive the request that opened it, so that pages can be made ahead. @default false */
  readonly lasting?: boolean;
  /** The login that its proxy asks for, once there is a connection; null for a proxy without one. */
  proxyLogin?(): ProxyLogin | null;
  /** Known troubles of the browser. @default none */
  trouble?(): BrowserTrouble;
  /** One line for people: which browser, and how it is guarded. */
  describe?(): Promise<string>;
}

/** The troubles of a browser. */
export interface BrowserTrouble {
  /** The reason why the last start failed; null if it did not. */
  readonly failure: string | null;
  /** A shortcoming of a working browser, e.g. missing fonts; null for none. */
  readonly lacks: string | null;
}

/** The credentials of a browser at its proxy. */
export interface ProxyLogin {
  /** An address of the proxy itself, which answers only with the credentials. */
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

/** One browser-level DevTools connection: whole JSON messages, in order, of any size. */
export interface Wire {
  /** A long message comes in parts. Take one at a time, so that other work goes on in between; the first part has the head. */
  send(message: string | Iterable<string>): void;
  onMessage(listener: (message: string) => void): void;
  /** Called once, when the connection or the browser is gone. */
  onClose(listener: (reason: string) => void): void;
  close(): void;
  /** Closes the connection and has its browser replaced, because it did not answer in time. @default `close()` */
  kill?(): void;
}
