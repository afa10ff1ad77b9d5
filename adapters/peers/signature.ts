import { createHash, createHmac, randomUUID, timingSafeEqual } from "node:crypto";

/** Signs requests to other nodes, and checks theirs. */
export interface Signatures {
  /** Returns the headers that sign a request; `body` is its head, "" without one. */
  sign(method: string, path: string, body: Uint8Array | ""): Record<string, string>;
  /** Returns why a request is refused, or the hash that its head must have. */
  check(
    method: string,
    path: string,
    headers: SignedHeaders,
  ): { refusal: string } | { hash: string };
}

export type SignedHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** How far the clocks of two nodes may be apart, in ms; a request is good for no longer. */
const WINDOW_MS = 120_000;
/** How many requests of a process may overtake one of its requests. */
const MAX_APART = 10_000;

const TIME = "x-causey-time";
const NONCE = "x-causey-nonce";
const HASH = "x-causey-body";
const SIGNATURE = "x-causey-signature";

/** Returns the SHA-256 of a head, in hex. */
export function hashOf(body: Uint8Array | ""): string {
  return createHash("sha256").update(body).digest("hex");
}

/** Makes the signatures of a cluster: HMAC-SHA-256 over method, path, time, a number used once, and the head's hash. */
export function signatures(secret: string, now: () => number = Date.now): Signatures {
  const digest = (...parts: string[]): string =>
    createHmac("sha256", secret).update(parts.join("\n")).digest("hex");
  const id = randomUUID();
  let count = 0;
  const taken = takenRequests(now);
  return {
    sign(method, path, body) {
      const [time, nonce, hash] = [String(now()), `${id} ${(count += 1)}`, hashOf(body)];
      return {
        [TIME]: time,
        [NONCE]: nonce,
        [HASH]: hash,
        [SIGNATURE]: digest(method, path, time, nonce, hash),
      };
    },
    check(method, path, headers) {
      const [time = "", nonce = "", hash = "", signature = ""] = [TIME, NONCE, HASH, SIGNATURE].map(
        (name) => String(headers[name] ?? ""),
      );
      if (!isEqual(signature, digest(method, path, time, nonce, hash)))
        return { refusal: "its signature is wrong: the nodes have different secrets" };
      const apart = now() - Number(time);
      if (!(Math.abs(apart) <= WINDOW_MS))
        return { refusal: `the clocks are ${Math.round(apart / 1000)} s apart` };
      return taken.take(nonce) ? { hash } : { refusal: "it was sent before" };
    },
  };
}

function isEqual(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The requests of one process that were taken. */
interface Sender {
  readonly seen: Set<number>;
  highest: number;
  /** When the last one was taken. */
  at: number;
}

/**
 * Remembers which requests were taken, so that none is taken twice. Each process counts its own: the last ones are enough,
 * whatever the load, since only those that overtake each other come out of order.
 */
function takenRequests(now: () => number): { take(nonce: string): boolean } {
  const senders = new Map<string, Sender>();
  return {
    take(nonce) {
      const [id = "", number = ""] = nonce.split(" ");
      const count = Number(number);
      const sender = senders.get(id) ?? { seen: new Set(), highest: 0, at: 0 };
      const isTaken = !(count > sender.highest - MAX_APART) || sender.seen.has(count);
      if (isTaken) return false;
      sender.seen.add(count);
      sender.highest = Math.max(sender.highest, count);
      sender.at = now();
      senders.set(id, sender);
      if (sender.seen.size > 2 * MAX_APART)
        for (const one of sender.seen)
          if (one <= sender.highest - MAX_APART) sender.seen.delete(one);
      // A process that has ended: its requests are too old by now. A request dated ahead is valid for twice the time.
      for (const [key, { at }] of senders) if (now() - at > 3 * WINDOW_MS) senders.delete(key);
      return true;
    },
  };
}
