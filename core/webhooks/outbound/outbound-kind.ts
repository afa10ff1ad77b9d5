import { OUTBOUND_KIND } from "../../entity/outbound.ts";
import { startClock } from "../../entity/clock.ts";
import type { Actor, ActorContext, ActorKind, Log, Transport } from "../../ports.ts";
import type { Tracer } from "../../trace/trace-context.ts";
import { turns } from "./turns.ts";
import { readStats } from "./counters.ts";
import { deliveries } from "./deliveries.ts";
import { endpoints } from "./endpoints.ts";
import type { DeliveryRetention } from "./messages.ts";
import { outboundSchema } from "./outbound-schema.ts";
import { endpointSecrets } from "./endpoint-secrets.ts";
import { nextDue } from "./endpoint-queues.ts";
import { startDispatcher } from "./dispatcher.ts";

/** The dependencies of the outbound side beside its actor's context. */
export interface OutboundDeps {
  /** Requests go to addresses that a caller chose: never anything but the guarded transport. */
  readonly egress: Transport;
  readonly masterSecret: string | undefined;
  readonly formerMasterSecrets: readonly string[];
  readonly log: Log;
  readonly retention: DeliveryRetention;
  /** @default no tracing */
  readonly tracer: Tracer | undefined;
}

type Endpoints = ReturnType<typeof endpoints>;
type Deliveries = ReturnType<typeof deliveries>;

/** The methods of the actor. */
export interface OutboundMethods {
  createEndpoint: Endpoints["create"];
  listEndpoints: Endpoints["list"];
  getEndpoint: Endpoints["get"];
  updateEndpoint: Endpoints["update"];
  deleteEndpoint: Endpoints["remove"];
  rotateSecret: Endpoints["rotate"];
  send: Deliveries["send"];
  checkRepeated: Deliveries["checkRepeated"];
  listDeliveries: Deliveries["list"];
  getDelivery: Deliveries["get"];
  replay: Deliveries["replay"];
  replayAll: Deliveries["replayAll"];
  stats(): ReturnType<typeof readStats>;
}

/** Methods that may run while the alarm holds the mailbox. */
const interleaved =
  "createEndpoint listEndpoints getEndpoint updateEndpoint deleteEndpoint rotateSecret send checkRepeated listDeliveries getDelivery replay replayAll stats";

/**
 * The kind of actor that sends the webhooks of an account. All methods are interleaved and touch only SQL, so the alarm
 * may hold the mailbox while it waits for the network. Only here is that right, because the platform runs an alarm
 * again when a crash cut it off.
 */
export function outboundKind(deps: OutboundDeps): ActorKind {
  return {
    name: OUTBOUND_KIND,
    schema: outboundSchema,
    interleaved: interleaved.split(" "),
    start: (context) => startOutbound(context, deps),
  };
}

async function startOutbound(context: ActorContext, deps: OutboundDeps): Promise<Actor> {
  const clock = await startClock(context, () => nextDue(context));
  const secrets = endpointSecrets(context, deps.masterSecret, deps.formerMasterSecrets);
  const inTurn = turns();
  const { egress, log, tracer } = deps;
  const dispatcher = startDispatcher({ context, clock, egress, inTurn, log, secrets, tracer });
  const notify = (ids: readonly string[]): void => {
    dispatcher.notify(ids);
  };
  const own = endpoints(context, { secrets, clock, inTurn, egress, notify });
  const queue = deliveries(context, clock, deps.retention, notify);
  const methods: OutboundMethods = {
    createEndpoint: (input) => own.create(input),
    listEndpoints: () => own.list(),
    getEndpoint: (id) => own.get(id),
    updateEndpoint: (id, patch) => own.update(id, patch),
    deleteEndpoint: (id) => own.remove(id),
    rotateSecret: (id, input) => own.rotate(id, input),
    send: (input) => queue.send(input),
    checkRepeated: (input) => queue.checkRepeated(input),
    listDeliveries: (query) => queue.list(query),
    getDelivery: (id) => queue.get(id),
    replay: (id) => queue.replay(id),
    replayAll: (filter) => queue.replayAll(filter),
    stats: () => readStats(context),
  };
  return {
    methods: { ...methods },
    onAlarm: () => clock.onAlarm(() => dispatcher.run()),
  };
}
