import { expect } from "vitest";
import type { DialRequest, Duplex, DuplexEnd, WebSockets } from "../../core/net/duplex.ts";
import type { Transport } from "../../core/ports.ts";
import { TransportError } from "../../core/net/transport-error.ts";
import type { TestSocket } from "../platform/open-platform.d.ts";
import { PATIENCE_MS } from "./eventually.ts";

/** What the suite works on. */
export interface WebSocketsSubject {
  readonly webSockets: WebSockets;
  readonly transport: Transport;
  /** Whether a reader that falls behind stops a dialled server. */
  readonly stops: boolean;
  /** Whether every violation of the protocol is noticed. */
  readonly strict: boolean;
  /** Whether the platform can tell when the process ends. */
  readonly closes: boolean;
  /** Base URL of `tests/platform/upstream.mjs`; the guard lets its port on `localhost` pass. */
  readonly upstream: string;
  /** Connects a client by way of the runtime's own server. */
  connect(
    handler: (request: Request) => Response,
    protocols?: readonly string[],
  ): Promise<TestSocket>;
  close(): Promise<void>;
}

export const fresh = (): AbortSignal => new AbortController().signal;

export async function dial(
  { webSockets, upstream }: WebSocketsSubject,
  path: string,
  more: Partial<DialRequest> = {},
): Promise<Duplex> {
  const request = { url: `${upstream}/ws/${path}`, headers: [], signal: fresh() };
  const dialled = await webSockets.dial({
    reach: "configured",
    timeoutMs: PATIENCE_MS,
    ...request,
    ...more,
  });
  if ("refusal" in dialled) throw new Error(`Refused: ${dialled.refusal.status}`);
  return dialled.duplex;
}

interface Ends {
  readonly client: TestSocket;
  readonly duplex: Duplex;
}

export async function accept(
  { webSockets, connect }: WebSocketsSubject,
  protocols: readonly string[] = [],
  protocol?: string,
): Promise<Ends> {
  const accepted: Duplex[] = [];
  const client = await connect((request) => {
    const answer = webSockets.accept(request, protocol === undefined ? {} : { protocol });
    accepted.push(answer.duplex);
    return answer.response;
  }, protocols);
  const [duplex] = accepted;
  if (duplex === undefined) throw new Error("Nothing was accepted");
  return { client, duplex };
}

interface Note {
  readonly came: boolean;
  readonly gone: boolean;
  readonly sent: number;
  readonly code?: number;
  readonly reason?: string;
}

export async function noteOf(
  { transport, upstream }: WebSocketsSubject,
  id: string,
): Promise<Note> {
  const url = `${upstream}/note?id=${id}`;
  const { body } = await transport.send({ method: "GET", url, headers: [] });
  return (await new Response(body as BodyInit).json()) as Note;
}

export const id = (): string => crypto.randomUUID();

export async function reasonOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "no error";
  } catch (error) {
    expect(error).toBeInstanceOf(TransportError);
    expect(String(error)).not.toContain("s3cret");
    return (error as TransportError).reason;
  }
}

export async function expectEnd(closed: Promise<DuplexEnd>, end: DuplexEnd): Promise<void> {
  const { code, reason } = await closed;
  expect({ code, reason }).toEqual(end);
}

/** Messages of both kinds, empty, long and of every byte. */
export const messages: readonly (string | Uint8Array)[] = [
  "",
  "text 🐘",
  new Uint8Array(0),
  Uint8Array.from({ length: 256 }, (_, i) => i),
  "ping",
  "x".repeat(200_000),
  new Uint8Array(3_000_000).fill(7),
];

/**
 * A message as a text of its kind and its bytes. Texts are compared at once; on Bun, comparing three megabytes as arrays
 * takes most of a minute.
 */
export function kindAndBytes(message: string | Uint8Array | null): string {
  if (message === null) return "none";
  if (typeof message === "string") return `text ${message}`;
  // Every byte is a character of its own in this charset.
  return `bytes ${new TextDecoder("windows-1252").decode(message)}`;
}

/** Frames that RFC 6455 forbids a server to send, in hexadecimal. */
export const violations: readonly (readonly [what: string, hex: string])[] = [
  ["text that is no UTF-8", "8102c328"],
  ["an unknown opcode", "8300"],
  ["a reserved bit", "c10161"],
  ["a masked frame", "81810000000061"],
  ["a continuation of nothing", "800161"],
  ["a ping in fragments", "0900"],
  ["a ping of 126 bytes", `897e007e${"00".repeat(126)}`],
  ["a frame of 2^63 - 1 bytes", "827f7fffffffffffffff"],
  ["a close frame of one byte", "880103"],
  ["a close code that stands for none", "880203ed"],
  ["a close code that stands for a broken connection", "880203ee"],
  ["a close code that stands for a failed handshake of TLS", "880203f7"],
  ["a close code below all", "880203e7"],
  ["a close code above all", "88021388"],
  ["a reason that is no UTF-8", "880403e8c328"],
];
