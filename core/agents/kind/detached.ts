import { kebab } from "../../entity/kebab.ts";
import type { IncomingEvent } from "../../entity/event.ts";
import type { DetachedMethods } from "../../ports.ts";
import type { AnyAgent } from "../define/definition.ts";
import { entityOwner } from "../feed/claim-entity.ts";
import { ingest } from "./ingest.ts";

/** Methods of a class of agents for events whose instance does not answer: a webhook waits for no other process. */
export function detachedMethods(definition: AnyAgent): DetachedMethods {
  const keyOf = (name: string): string => `${kebab(definition.name)}/${name}`;
  return {
    methods: {
      ownerOf: ({ name, sql }) => entityOwner(sql, keyOf(name)),
      async ingest(context, event: IncomingEvent) {
        const { name, sql, system } = context;
        const receipt = await ingest(
          // The queue runs the job as soon as the instance hears of it: no call waits for it.
          { ...event, respond: "queued" },
          {
            agent: keyOf(name),
            clock: { write: (statements) => context.write(statements) },
            now: system.now(),
            steady: context.steady(),
            jobId: definition.onEvent === undefined ? null : system.id(),
            isClaimed: false,
            owner: null,
            sql,
            prunes: false,
            reports: null,
          },
        );
        return { ...receipt, isDetached: true };
      },
    },
    followUp: "followUp",
  };
}
