import { OUTBOUND_KIND } from "../../entity/outbound.ts";
import type { ActorKind } from "../../ports.ts";
import type { RequestsInFlight } from "./endpoint-queues.ts";
import type { OutboundDeps } from "./outbound-actor.ts";
import { outboundSchema } from "./outbound-schema.ts";

/** Methods that may run while the alarm holds the mailbox. */
const interleaved =
  "createEndpoint listEndpoints getEndpoint updateEndpoint deleteEndpoint rotateSecret send checkRepeated listDeliveries getDelivery replay replayAll stats topics createApplication listApplications getApplication updateApplication hideApplication forgetApplication deleteRows";

/**
 * The kind of actor that sends the webhooks of an account, or of one of its applications: each application has an actor,
 * and so rows, of its own. All methods are interleaved and touch only SQL, so the alarm
 * may hold the mailbox while it waits for the network. Only here is that right, because the platform runs an alarm
 * again when a crash cut it off.
 */
export function outboundKind(deps: OutboundDeps): ActorKind {
  const ofApplications: RequestsInFlight = { inFlight: 0 };
  return {
    name: OUTBOUND_KIND,
    schema: outboundSchema,
    interleaved: interleaved.split(" "),
    async start(context) {
      const { startOutbound } = await import("./outbound-actor.ts");
      return startOutbound(context, { ...deps, ofApplications });
    },
  };
}
