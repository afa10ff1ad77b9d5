import { ask, serverUrl } from "./api.ts";

interface AgentCall {
  /** The path of the instance. */
  readonly path: string;
  readonly method: string;
  readonly args: readonly unknown[];
  readonly signal: AbortSignal;
}

interface RpcFrame {
  readonly type?: string;
  readonly id?: string;
  readonly success?: boolean;
  readonly error?: string;
  readonly result?: unknown;
  readonly done?: boolean;
}

/** Milliseconds that a call may take: a callable has its own time, which ends sooner. */
const LONGEST_MS = 10 * 60_000;

/**
 * Calls an operation of an agent over a WebSocket, by a ticket: the page has no token. `onPart` gets each part of a
 * stream and the result. Rejects with what the agent answered.
 */
export async function callAgent(
  { path, method, args, signal }: AgentCall,
  onPart: (value: unknown) => void,
): Promise<void> {
  const json = { ttl_seconds: 60, edit: true, origin: location.origin };
  const made = await ask(`${path}/ticket`, { method: "POST", json, signal });
  const { ticket } = ((await made.json()) as { result: { ticket: string } }).result;
  const address = `${serverUrl.replace(/^http/u, "ws")}${path}?ticket=${encodeURIComponent(ticket)}`;
  const socket = new WebSocket(address);
  const over = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_MS)]);
  const end = Promise.withResolvers<void>();
  over.addEventListener("abort", () => end.reject(new Error("The call was stopped")));
  socket.addEventListener("open", () =>
    socket.send(JSON.stringify({ type: "rpc", id: "console", method, args })),
  );
  socket.addEventListener("message", ({ data }) => {
    const frame = frameOf(data);
    if (frame.type !== "rpc" || frame.id !== "console") return;
    if (frame.success !== true) return end.reject(new Error(frame.error ?? "The call failed"));
    onPart(frame.result);
    if (frame.done !== false) end.resolve();
  });
  socket.addEventListener("close", ({ code, reason }) =>
    end.reject(new Error(`The connection was closed: ${reason || `code ${code}`}`)),
  );
  try {
    await end.promise;
  } finally {
    socket.close();
  }
}

function frameOf(data: unknown): RpcFrame {
  return typeof data === "string" ? (JSON.parse(data) as RpcFrame) : {};
}
