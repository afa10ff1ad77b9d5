import type { OutboundRequest, Transport } from "../../core/ports.ts";
import { TransportError } from "../../core/net/transport-error.ts";

/** A request that a receiver got. */
export interface Received {
  readonly url: string;
  readonly headers: Headers;
  readonly body: string;
}

/** How a receiver answers its next requests; the last answer stays. */
export type Answer =
  | number
  | {
      readonly status: number;
      readonly headers: [string, string][];
      /** @default a text */
      readonly body?: Uint8Array;
    }
  | "unreachable"
  | "refused";

/** A transport whose other end answers from a list per address. */
export interface Receiver extends Transport {
  readonly received: Received[];
  answer(url: string, ...answers: Answer[]): void;
}

/** Makes a receiver that answers 200 where nothing else was said. */
export function receiver(): Receiver {
  const received: Received[] = [];
  const answers = new Map<string, Answer[]>();
  return {
    received,
    answer(url, ...list) {
      answers.set(url, list);
    },
    async send(request: OutboundRequest) {
      const body = new TextDecoder().decode(request.body as Uint8Array);
      received.push({
        url: request.url,
        headers: new Headers(request.headers.map(([a, b]) => [a, b])),
        body,
      });
      const list = answers.get(request.url) ?? [];
      const answer = (list.length > 1 ? list.shift() : list[0]) ?? 200;
      if (answer === "unreachable" || answer === "refused")
        throw new TransportError(answer, `It is ${answer}`);
      const text = new TextEncoder().encode("answer body");
      if (typeof answer === "number") return { status: answer, headers: [], body: text };
      return { status: answer.status, headers: answer.headers, body: answer.body ?? text };
    },
  };
}
