// The types of workerd with which Deno, which has none, checks the adapter (deno.json, compilerOptions). No import or
// export stands at the top, so that all is global. tsc checks the adapter against the complete types instead.

interface Response {
  readonly webSocket: WebSocket | null;
}
interface ResponseInit {
  webSocket?: WebSocket | null;
}
interface WebSocket {
  accept(): void;
  serializeAttachment(value: unknown): void;
  deserializeAttachment(): unknown;
}
declare class WebSocketPair {
  0: WebSocket;
  1: WebSocket;
}
declare class WebSocketRequestResponsePair {
  constructor(request: string, response: string);
  readonly request: string;
  readonly response: string;
}
declare class FixedLengthStream extends TransformStream<Uint8Array, Uint8Array> {
  constructor(length: number);
}
interface DurableObjectId {
  readonly name?: string;
}
type SqlStorageValue = ArrayBuffer | string | number | null;
interface SqlStorage {
  exec(sql: string, ...params: SqlStorageValue[]): SqlCursor;
}
interface SqlCursor extends Iterable<Record<string, SqlStorageValue>> {
  readonly columnNames: string[];
  readonly rowsWritten: number;
  one(): Record<string, SqlStorageValue>;
  toArray(): Record<string, SqlStorageValue>[];
}
interface DurableObjectStorage {
  readonly sql: SqlStorage;
  readonly kv: {
    get(key: string): unknown;
    put(key: string, value: unknown): void;
    delete(key: string): boolean;
  };
  transactionSync<T>(work: () => T): T;
  sync(): Promise<void>;
  getAlarm(): Promise<number | null>;
  setAlarm(at: number): Promise<void>;
  deleteAlarm(): Promise<void>;
}
interface DurableObjectState {
  readonly id: DurableObjectId;
  readonly storage: DurableObjectStorage;
  waitUntil(work: Promise<unknown>): void;
  acceptWebSocket(socket: WebSocket, tags?: string[]): void;
  getWebSockets(tag?: string): WebSocket[];
  getTags(socket: WebSocket): string[];
  setWebSocketAutoResponse(pair: WebSocketRequestResponsePair): void;
  getWebSocketAutoResponseTimestamp(socket: WebSocket): Date | null;
}

declare module "cloudflare:workers" {
  export abstract class DurableObject<Env> {
    constructor(ctx: DurableObjectState, env: Env);
    protected readonly ctx: DurableObjectState;
    protected readonly env: Env;
    fetch?(request: Request): Response | Promise<Response>;
    alarm?(): void | Promise<void>;
    webSocketMessage?(socket: WebSocket, message: string | ArrayBuffer): void | Promise<void>;
    webSocketClose?(socket: WebSocket, code: number, reason: string): void | Promise<void>;
    webSocketError?(socket: WebSocket): void | Promise<void>;
  }
  export function waitUntil(work: Promise<unknown>): void;
}
