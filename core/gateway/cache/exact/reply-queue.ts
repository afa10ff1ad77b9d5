import { flushPlan } from "../../../metrics/counted-batches.ts";
import type { System } from "../../../ports.ts";
import { actorName, type GatewayName } from "../../account/settings/gateway-name.ts";
import type { TimedReply } from "./packed-reply.ts";

export interface WaitingReply extends TimedReply {
  readonly key: string;
}

/** Collects answers and stores those of a moment together: a commit for each would cost more than all the rest of a miss. */
export interface ReplyQueue {
  /** Takes an answer; while too many wait it is left out. */
  push(name: GatewayName, reply: WaitingReply): void;
}

export interface ReplyQueueOptions {
  readonly system: System;
  readonly store: (name: GatewayName, replies: readonly WaitingReply[]) => Promise<void>;
  /** Told of each batch that could not be stored. */
  readonly failed: (error: unknown) => unknown;
}

/** Milliseconds that an answer waits for others, unless the queue is stored before. */
const INTERVAL = 50;
/** Bytes that may wait for being stored: a slow database must not fill the memory. */
const WAITING_LIMIT = 32 * 1024 * 1024;
/** The weight of a waiting answer beside its bytes. */
const OVERHEAD = 2048;
/** Answers, and their weight, that are stored at once: more would hold up other requests. */
const BATCH = 64;
const BATCH_WEIGHT = 256 * 1024;

/** Answers of one gateway that are stored at once. */
interface ReplyBatch {
  readonly name: GatewayName;
  readonly replies: WaitingReply[];
  weight: number;
}

/** Makes a queue. `system.waitUntil` carries its flushes, so that a clean shutdown loses no answer. */
export function replyQueue({ system, store, failed }: ReplyQueueOptions): ReplyQueue {
  let batches: ReplyBatch[] = [];
  /** The last batch of each gateway, while it has room. */
  const open = new Map<string, ReplyBatch>();
  /** Bytes of what waits, and of what is being stored. */
  let held = 0;
  const flush = async (): Promise<void> => {
    const taken = batches;
    batches = [];
    open.clear();
    for (const { name, replies, weight } of taken) {
      await store(name, replies).catch(failed);
      held -= weight;
    }
  };
  const plan = flushPlan(system, flush, INTERVAL);
  const batchOf = (name: GatewayName): ReplyBatch => {
    const actor = actorName(name);
    const last = open.get(actor);
    if (last !== undefined) return last;
    const batch: ReplyBatch = { name, replies: [], weight: 0 };
    batches.push(batch);
    open.set(actor, batch);
    return batch;
  };
  return {
    push(name, reply) {
      const weight = reply.packed.length + OVERHEAD;
      if (held + weight > WAITING_LIMIT) return;
      held += weight;
      const batch = batchOf(name);
      batch.replies.push(reply);
      batch.weight += weight;
      if (batch.replies.length < BATCH && batch.weight < BATCH_WEIGHT)
        return plan(system.monotonic());
      open.delete(actorName(name));
      system.waitUntil(flush());
    },
  };
}
