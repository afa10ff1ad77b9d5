import { type AgentCapabilities, capabilitiesOf } from "./capabilities.ts";
import type { Clock } from "../../entity/clock.ts";
import type { Deadline } from "./deadline.ts";
import { queueWebhook, type OutboundWebhook, type OutboxDeps } from "../queue/outbox.ts";
import { agentStub, type AgentStub, type CallableClass, type Caller } from "../rpc/agent-stub.ts";

/** What an instance reaches beside itself. */
export interface AgentReach extends AgentCapabilities {
  /**
   * Another instance (or this one), whose callables are methods: `agent.getAgentByName(Board, "main").add(1)`. A call ends
   * with this run's time at the latest. An exclusive callable that would wait for itself is refused at once.
   */
  getAgentByName<Calls extends object>(of: CallableClass<Calls>, name: string): AgentStub<Calls>;
  /**
   * The account's outbound webhooks. `send` resolves once the message is stored with the instance; from there it goes to
   * the account's queue once, whatever happens in between. {@link AgentTransaction} stores it with a state.
   */
  readonly webhooks: { send(message: OutboundWebhook): Promise<void> };
}

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
