import { afterAll, beforeAll, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { startClock } from "../../../core/entity/clock.ts";
import { nextReplay, replaySchema, startReplays } from "../../../core/entity/webhook-replays.ts";
import type { ActorKind, Platform } from "../../../core/ports.ts";

/** The entities that were asked for a slice. */
const asked: string[] = [];
const entities: ActorKind = {
  name: "agent:asked",
  schema: [],
  start: ({ name }) => ({
    methods: {
      replaySlice() {
        asked.push(name);
        throw new Error("It fails");
      },
    },
  }),
};
const index: ActorKind = {
  name: "replay-attempts",
  schema: replaySchema,
  async start(context) {
    const clock = await startClock(context, () => nextReplay(context));
    const replays = startReplays(context, clock);
    return {
      methods: {
        async put(tries: number) {
          const insert = `INSERT INTO webhooks_replay_entities (actor, replay, agent, entity, due, tries, queued)
            VALUES (?, ?, 'asked', ?, 0, ?, 0)`;
          const { id } = (await replays.create({ of: "events" }, null)) as { id: string };
          await context.sql.batch([
            { sql: "UPDATE webhooks_replays SET listed = 1 WHERE id = ?", params: [id] },
            { sql: insert, params: [context.name, id, `e${tries}`, tries] },
          ]);
          await replays.run();
          return replays.get(id);
        },
      },
    };
  },
};

let platform: Platform;
beforeAll(async () => {
  platform = await openPlatform();
  platform.actors.define(entities);
  platform.actors.define(index);
});
afterAll(() => platform.close());

it("An entity is given up after eight calls, whether they failed or the process ended during them", async () => {
  const after = (tries: number): Promise<unknown> =>
    platform.actors.get("replay-attempts", "one").call("put", tries);
  expect(await after(6)).toMatchObject({ status: "running", failed: 0 });
  expect(await after(7)).toMatchObject({ status: "completed", failed: 1 });
  expect(await after(8)).toMatchObject({ status: "completed", failed: 1 });
  expect(asked).toEqual(["e6", "e7"]);
});
