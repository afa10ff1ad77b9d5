import { expect, it } from "vitest";
import {
  type EndpointQueue,
  startEndpointQueues,
} from "../../../../core/webhooks/outbound/endpoint-queues.ts";
import type { ActorContext, SqlRow } from "../../../../core/ports.ts";

/** A sender with more endpoints than there is room for, each with deliveries that are due. */
interface Busy {
  /** Begins as many requests as it may; returns how many are in flight then. */
  begin(): number;
  /** Ends them all. */
  end(): void;
}

async function busy(name: string, ofApplications: { inFlight: number }): Promise<Busy> {
  const rows = Array.from({ length: 4000 }, (_, n): SqlRow => {
    return { id: `we_${n}`, failures: 0, concurrency: 50, rate: null, due: 0 };
  });
  // `as`: the queues use nothing else of a context.
  const context = { name, steady: () => 1, sql: { all: async () => rows } } as unknown;
  const queues = startEndpointQueues(context as ActorContext, ofApplications);
  await queues.refresh();
  const begun: EndpointQueue[] = [];
  return {
    begin() {
      for (let plan = queues.plan(1); plan.size > 0; plan = queues.plan(1))
        for (const [queue, planned] of plan)
          for (let n = 0; n < planned; n++) {
            queues.began(queue);
            begun.push(queue);
          }
      return begun.length;
    },
    end() {
      for (const queue of begun.splice(0)) queues.ended(queue, false);
    },
  };
}

it("an application leaves as many requests to the others as it has", async () => {
  const ofApplications = { inFlight: 0 };
  const all: Busy[] = [];
  for (const name of ["a/one", "a/two", "b/three"]) all.push(await busy(name, ofApplications));
  expect(all.map((one) => one.begin())).toEqual([2048, 1024, 512]);
  // An account's own requests are not among them.
  const own = await busy("a", ofApplications);
  expect([own.begin() > 4096, ofApplications.inFlight]).toEqual([true, 3584]);
  // The first one's are shared again when they end.
  all[0]?.end();
  expect(all.map((one) => one.begin())).toEqual([1280, 1152, 832]);
});
