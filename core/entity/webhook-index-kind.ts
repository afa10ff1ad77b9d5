import type { ActorKind } from "../ports.ts";
import { plainHolder } from "./plain-holder.ts";
import { INDEX_KIND } from "./webhook-index.ts";
import { indexSchema } from "./webhook-index-schema.ts";

/**
 * The kind of actor that lists entities, failures and dead letters across entities. Entities report to it when their
 * agent starts and when a job fails, is given up, or succeeds after all: an entity that is well sends nothing.
 */
export const webhookIndexKind: ActorKind = {
  name: INDEX_KIND,
  schema: indexSchema,
  // These do not wait for the mailbox: the alarm holds it while it waits for entities, which may be reporting.
  interleaved:
    "report entities failures plainHolder createReplay listReplays getReplay cancelReplay".split(
      " ",
    ),
  detached: {
    methods: {
      plainHolder: (context, agent: string, owners: readonly string[], isAlone: boolean) =>
        plainHolder(context, agent, owners, isAlone),
    },
  },
  async start(context) {
    const { startIndex } = await import("./webhook-index-actor.ts");
    return startIndex(context);
  },
};
