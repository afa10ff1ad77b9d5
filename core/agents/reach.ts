import type { ActorContext } from "../ports.ts";
import type { Deadline } from "./deadline.ts";
import { agentStub, type AgentStub, type CallableClass, type Caller } from "./stub.ts";

/** What an instance reaches beside itself. */
export interface AgentReach {
  /**
   * Another instance (or this one), whose callables are methods: `agent.getAgentByName(Board, "main").add(1)`. A call ends
   * with this run's time at the latest. An exclusive callable that would wait for itself is refused at once.
   */
  getAgentByName<Calls extends object>(of: CallableClass<Calls>, name: string): AgentStub<Calls>;
}

/** What one run of an instance's handler reaches. */
export function reachOf(
  { context }: { readonly context: Pick<ActorContext, "actors"> },
  deadline: Deadline,
  chain: readonly Caller[],
): AgentReach {
  return {
    getAgentByName: (of, name) =>
      agentStub(context.actors, of, name, () => {
        deadline.check();
        return { chain, ms: deadline.left() };
      }),
  };
}
