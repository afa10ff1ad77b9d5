import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { inject } from "vitest";
import { WebSocket, type ClientOptions } from "ws";
import { gatewayToken } from "../http/prepare-target.ts";
import type { SocketSeen } from "../http/realtime-upstream.ts";

export const base = inject("baseUrl").replace(/^http/, "ws");
const upstream = inject("upstreamUrl");
export const account = inject("accountId");
export const token = inject("token");

interface Options {
  readonly gateway?: string;
  readonly protocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

export const guarded = { "cf-aig-authorization": `Bearer ${gatewayToken}` };

/** A connection through the gateway; `path` is the provider and what follows it. */
interface Client {
  readonly socket: WebSocket;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  /** The connection below. */
  readonly raw: Socket;
  next(): Promise<string | Buffer>;
}

/** The answer in place of a connection. */
interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

export function open(path: string, options: Options = {}): Promise<Client | Refusal> {
  const { gateway = "open", protocols = [], headers = {} } = options;
  const settings: ClientOptions = { headers, perMessageDeflate: false };
  const url = `${base}/v1/${account}/${gateway}/${path}`;
  const socket = new WebSocket(url, [...protocols], settings);
  const received: (string | Buffer)[] = [];
  const waiting: ((message: string | Buffer) => void)[] = [];
  socket.on("message", (data: Buffer, binary) => {
    const message = binary ? data : data.toString();
    const first = waiting.shift();
    if (first === undefined) received.push(message);
    else first(message);
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on("close", (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  const next = (): Promise<string | Buffer> => {
    const message = received.shift();
    return message === undefined
      ? new Promise((resolve) => waiting.push(resolve))
      : Promise.resolve(message);
  };
  return new Promise((resolve, reject) => {
    socket.on("error", reject);
    socket.on("upgrade", ({ socket: raw }) => {
      socket.on("open", () => resolve({ socket, closed, raw, next }));
    });
    socket.on("unexpected-response", (_request, answer) => {
      let body = "";
      answer.setEncoding("utf8").on("data", (text: string) => (body += text));
      answer.on("end", () => {
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body });
      });
    });
  });
}

export async function connect(path: string, options?: Options): Promise<Client> {
  const opened = await open(path, options);
  if ("status" in opened) throw new Error(`Refused: ${opened.status} ${opened.body}`);
  return opened;
}

export async function refused(path: string, options?: Options): Promise<Refusal> {
  const opened = await open(path, options);
  if ("status" in opened) return opened;
  opened.socket.terminate();
  throw new Error("Not refused");
}

export async function seenBy(test: string): Promise<SocketSeen[]> {
  return (await (await fetch(`${upstream}/__sockets/${test}`)).json()) as SocketSeen[];
}

/** Whether nothing leaves a client any more. */
export async function isSteady(socket: WebSocket): Promise<boolean> {
  const before = socket.bufferedAmount;
  await new Promise((resolve) => setTimeout(resolve, 300));
  return socket.bufferedAmount === before;
}

/** What the provider saw of a connection to `path`, which then is closed. */
export async function arrival(path: string, options?: Options): Promise<SocketSeen> {
  const test = randomUUID();
  const client = await connect(`${path}${path.includes("?") ? "&" : "?"}test=${test}`, options);
  client.socket.close();
  await client.closed;
  const [seen] = await seenBy(test);
  if (seen === undefined) throw new Error("Nothing arrived");
  return { ...seen, url: seen.url.replace(/[?&]test=[^&]*/, "") };
}
