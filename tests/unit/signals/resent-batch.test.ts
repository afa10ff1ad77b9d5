import { openPlatform } from "#platform";
import { expect, it } from "vitest";
import { actorClient } from "../../../core/actors/actor-client.ts";
import type { RequestBatch } from "../../../core/signals/request-counting.ts";
import {
  addRequest,
  noRequests,
  seriesKey,
} from "../../../core/signals/requests/request-totals.ts";
import { signalsKind, type SignalsMethods } from "../../../core/signals/signals-actor.ts";

const row = { time: 0, id: "a", part: "p", method: "GET", route: "/", status: 200, ms: 1 };

function batchOf(sequence: number): RequestBatch {
  const totals = noRequests();
  addRequest(totals, row);
  return {
    source: "process",
    sequence,
    deltas: [[seriesKey(row), totals]],
    deprecated: [],
    rows: [row],
  };
}

/** How many requests are counted after these batches, by an instance that starts anew. */
async function countedAfter(data: string, sequences: readonly number[]): Promise<number> {
  const platform = await openPlatform({ data });
  platform.actors.define(signalsKind);
  const actor = actorClient<SignalsMethods>(platform.actors.get(signalsKind.name, "all"));
  for (const sequence of sequences) await actor.add(batchOf(sequence));
  const series = await actor.totals();
  await platform.close();
  return series.reduce((sum, [, totals]) => sum + totals.count, 0);
}

it("a batch that is sent again counts once, also by an instance that has started since", async () => {
  const data = crypto.randomUUID();
  expect(await countedAfter(data, [1, 1])).toBe(1);
  expect(await countedAfter(data, [1, 2])).toBe(2);
  expect(await countedAfter(data, [])).toBe(2);
});
