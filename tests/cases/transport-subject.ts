import { expect } from "vitest";
import type {
  HeaderPair,
  InboundResponse,
  OutboundRequest,
  Platform,
  StreamWatch,
  Transport,
} from "../../core/ports.ts";
import { TransportError } from "../../core/net/transport-error.ts";

/** What the suite works on. */
export interface TransportSubject {
  readonly transport: Transport;
  /** Base URL of `tests/platform/upstream.mjs`. */
  readonly upstream: string;
  readonly runtime: Platform["runtime"];
}

export const get = (url: string, more: Partial<OutboundRequest> = {}): OutboundRequest => ({
  method: "GET",
  url,
  headers: [],
  ...more,
});

export async function bytesOf({ body }: InboundResponse): Promise<Uint8Array> {
  if (body === null) return new Uint8Array(0);
  return new Uint8Array(await new Response(body as BodyInit).arrayBuffer());
}

export const textOf = async (response: InboundResponse): Promise<string> =>
  new TextDecoder().decode(await bytesOf(response));

export const valuesOf = (pairs: readonly HeaderPair[], name: string): string[] =>
  pairs.filter(([key]) => key === name).map(([, value]) => value);

export interface Note {
  readonly bytes: number;
  readonly came: boolean;
  readonly gone: boolean;
  readonly sent: number;
}

export async function noteOf({ transport, upstream }: TransportSubject, id: string): Promise<Note> {
  return JSON.parse(await textOf(await transport.send(get(`${upstream}/note?id=${id}`)))) as Note;
}

export async function reasonOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "no error";
  } catch (error) {
    expect(error).toBeInstanceOf(TransportError);
    return (error as TransportError).reason;
  }
}

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly pairs: readonly [string, string][];
}

export async function seenBy(
  { transport, upstream }: TransportSubject,
  more: Partial<OutboundRequest>,
): Promise<Seen> {
  const seen = JSON.parse(
    await textOf(await transport.send(get(`${upstream}/headers?q=1%2F2`, more))),
  ) as Seen;
  return { ...seen, pairs: seen.pairs.map(([name, value]) => [name.toLowerCase(), value]) };
}

export const id = (): string => crypto.randomUUID();

export const MEBI = 1024 * 1024;

export type Reader = ReadableStreamDefaultReader<Uint8Array>;

export const noWatch: StreamWatch = { onChunk: () => undefined, onEnd: () => undefined };

/** The bytes that an upstream has written once it writes no more. */
export async function standstill(subject: TransportSubject, name: string): Promise<number> {
  let { sent } = await noteOf(subject, name);
  for (let still = 0; still < 20; still++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const now = (await noteOf(subject, name)).sent;
    if (now !== sent) still = 0;
    sent = now;
  }
  return sent;
}

/** Reads counted bytes up to the end or `enough` of them, and counts them; throws where they are not in their order. */
export async function countedBytes(
  body: InboundResponse["body"],
  enough: number = Number.POSITIVE_INFINITY,
): Promise<number> {
  const reader = new Response(body as BodyInit).body?.getReader();
  let at = 0;
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return at;
    for (const byte of value) {
      if (byte !== (((at >>> 2) >>> (8 * (at & 3))) & 255)) throw new Error(`Not byte ${at}`);
      at++;
    }
    if (at < enough) continue;
    await reader?.cancel();
    return at;
  }
}
