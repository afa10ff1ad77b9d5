import type { AgentReach } from "../define/agent.ts";
import { capabilitiesOf } from "./capabilities.ts";
import type { Clock } from "../../entity/clock.ts";
import type { Deadline } from "./deadline.ts";
import { queueWebhook, type OutboxDeps } from "../queue/outbox.ts";
import { agentStub, type Caller } from "../rpc/agent-stub.ts";

/** What one run of an instance's handler reaches. */
export function reachOf(
  deps: OutboxDeps & { readonly clock: Clock },
  deadline: Deadline,
  chain: readonly Caller[],
): AgentReach {
  const { clock, context, services } = deps;
  return {
    webhooks: {
      async send(message) {
        deadline.check();
        const job = await queueWebhook(deps, message);
        await clock.write([job], context.steady());
      },
    },
    ...capabilitiesOf(services, deadline),
    getAgentByName: (of, name) =>
      agentStub(context.actors, of, name, () => {
        deadline.check();
        return { chain, ms: deadline.left() };
      }),
  };
}
