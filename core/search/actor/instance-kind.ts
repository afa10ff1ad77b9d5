import { ApiError } from "../../http/api-error.ts";
import type { ActorKind } from "../../ports.ts";
import { fairSlots, type FairSlots } from "../../work/fair-slots.ts";
import type { SearchOptions } from "../models/search-deps.ts";
import { instanceTables } from "../state/tables.ts";
import { createVectorBudget } from "../vectors/vector-budget.ts";

/** The name of the kind of actor that is one search instance; each is named `account/namespace/id`. */
export const INSTANCE_KIND: string = "search";

/**
 * The methods, all of which run beside the mailbox: what changes something waits for its turn among its like. The
 * mailbox belongs to the alarm, which lasts as long as the queue has work to do.
 */
const interleaved =
  "create change destroy read stats search train admitVisit questions clickQuestion clearQuestions cachedAnswer keepAnswer unchanged begin beginSync queuePictures commit fail release remove item items chunks content logs startJob cancelJob job jobLogs jobs";

/** Bytes of vectors in memory: an isolate of Workers has 128 MB for all that it does. */
const VECTORS = 512 * 1024 * 1024;
const WORKER_VECTORS = 48 * 1024 * 1024;

/** Files whose pictures are read at a time, and further ones of instances that have none read. */
const FILES = 4;
const RESERVE = 4;
/** Files that wait for their turn: an instance has two at most. */
const WAITING = 10_000;

/** Makes the kind of actor that is one search instance, with what its queue indexes with. */
export function instanceKind(deps: SearchOptions): ActorKind {
  const { runtime, system } = deps.platform;
  const bytes = deps.vectorMemoryBytes ?? (runtime === "workers" ? WORKER_VECTORS : VECTORS);
  const budget = createVectorBudget(bytes, () => system.monotonic());
  const shared = pictureSlots();
  // A Durable Object may not wake another one. Each has slots of its own, and runs in an isolate with few others.
  const pictures = (): FairSlots => (runtime === "workers" ? pictureSlots() : shared);
  return {
    name: INSTANCE_KIND,
    schema: instanceTables,
    interleaved: interleaved.split(" "),
    async start(context) {
      const { startInstance } = await import("./instance-actor.ts");
      return startInstance(context, { ...deps, pictures: pictures() }, budget);
    },
  };
}

/** Makes the slots in which the instances of a process have pictures read: a slow scan keeps no other instance waiting. */
function pictureSlots(): FairSlots {
  const refuse = (): ApiError =>
    new ApiError("unavailable", { message: "Too many files wait to have their pictures read" });
  return fairSlots({ running: FILES, reserve: RESERVE, waiting: WAITING, refuse });
}
