import type { HeaderPair, InboundResponse, OutboundRequest, Transport } from "../../core/ports.ts";
import { TransportError } from "../../core/net/transport-error.ts";

/** What the fake upstream does with a request. */
export type Behaviour = (
  request: OutboundRequest,
  index: number,
) => InboundResponse | Promise<InboundResponse>;

/** A transport without a network that remembers what it was asked to send, and keeps deadlines. */
export interface FakeTransport extends Transport {
  readonly requests: OutboundRequest[];
  /** Bodies as text, in the order of `requests`. */
  readonly bodies: string[];
  behave: Behaviour;
}

export function fakeTransport(behave: Behaviour = () => jsonReply({ ok: true })): FakeTransport {
  const fake: FakeTransport = {
    requests: [],
    bodies: [],
    behave,
    async send(request) {
      if (request.signal?.aborted === true) throw new TransportError("aborted", "aborted");
      const index = fake.requests.push(request) - 1;
      const body = request.body ?? null;
      fake.bodies[index] =
        body instanceof Uint8Array ? new TextDecoder().decode(body) : await read(body);
      return inTime(request, async () => fake.behave(request, index));
    },
  };
  return fake;
}

/** As the port has it: the deadline ends what `behave` waits for. */
function inTime(
  { beginMs }: OutboundRequest,
  work: () => Promise<InboundResponse>,
): Promise<InboundResponse> {
  if (beginMs === undefined) return work();
  return new Promise((resolve, reject) => {
    const onLate = (): void => reject(new TransportError("late", `No answer within ${beginMs} ms`));
    const timer = setTimeout(onLate, beginMs);
    work()
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}

async function read(body: ReadableStream<Uint8Array> | null): Promise<string> {
  return body === null ? "" : await new Response(body).text();
}

export function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

export function jsonReply(
  value: unknown,
  status: number = 200,
  headers: readonly HeaderPair[] = [],
): InboundResponse {
  return {
    status,
    headers: [["content-type", "application/json"], ...headers],
    body: bytes(JSON.stringify(value)),
  };
}

/** A stream of these chunks; `ending` is what happens after the last one. */
export function streamReply(
  chunks: readonly (string | Uint8Array)[],
  options: { ending?: "end" | "break" | "hang"; type?: string; onCancel?: () => void } = {},
): InboundResponse {
  const { ending = "end", type = "text/event-stream", onCancel } = options;
  const left = [...chunks];
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const next = left.shift();
        if (next !== undefined) controller.enqueue(typeof next === "string" ? bytes(next) : next);
        else if (ending === "end") controller.close();
        else if (ending === "break") controller.error(new TransportError("broken", "cut off"));
        else return new Promise<void>(() => undefined);
        return undefined;
      },
      cancel() {
        onCancel?.();
      },
    },
    { highWaterMark: 0 },
  );
  return { status: 200, headers: [["content-type", type]], body };
}

/** Headers of an outbound request as a record. */
export function sentHeaders(request: OutboundRequest | undefined): Record<string, string> {
  return Object.fromEntries(request?.headers ?? []);
}
