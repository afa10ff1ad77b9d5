import { agentKindName } from "../../entity/kebab.ts";
import type { ActorKind } from "../../ports.ts";
import type { AnyAgent } from "../define/definition.ts";
import { agentSchema } from "../define/schema.ts";
import type { AgentServices } from "../define/services.ts";
import { detachedMethods } from "./detached.ts";

/** The actor kind of an agent class, whose instances have the services of one platform. */
export function agentKind(definition: AnyAgent, services: AgentServices = {}): ActorKind {
  return {
    name: agentKindName(definition.name),
    shared: { name: "agents", steps: agentSchema },
    schema: definition.schema ?? [],
    // These take no decision that another call could overtake: they only use SQL, or wait for news. Calls wait in
    // queues of their own.
    interleaved: [
      "call",
      "ingest",
      "followUp",
      "forgetSender",
      "answerOf",
      "nextEvents",
      "getEvents",
      "getEventsByType",
      "listEvents",
      "deadLetters",
      "replaySlice",
      "followRetention",
      "admit",
      "ownerOf",
    ],
    timeOfDay: true,
    detached: detachedMethods(definition),
    async start(context) {
      const { startAgent } = await import("./agent-actor.ts");
      return startAgent(context, definition, services);
    },
  };
}
