import { type ApplicationLimits, OUTBOUND_KIND } from "../../entity/outbound.ts";
import { startClock } from "../../entity/clock.ts";
import type { Actor, ActorContext, ActorKind, Log, Transport } from "../../ports.ts";
import type { Tracer } from "../../trace/trace-context.ts";
import { applications, deleteRows } from "./applications.ts";
import type { AgentTargets } from "./agent-target.ts";
import { type Topics, topics } from "./topics.ts";
import { turns } from "../pace/turns.ts";
import { readStats } from "./counters.ts";
import { deliveries, type DeliveryFilter, type SendResult } from "./deliveries.ts";
import { ENDPOINT_LIMIT, endpoints, type EndpointWithSecret } from "./endpoints.ts";
import type { DeliveryRetention, SendInput } from "./messages.ts";
import { type EndpointInput, outboundSchema } from "./outbound-schema.ts";
import { messageRate } from "../pace/token-bucket.ts";
import { endpointSecrets } from "./endpoint-secrets.ts";
import { startSealer } from "./sealer.ts";
import { type RequestsInFlight, nextDue } from "./endpoint-queues.ts";
import { startDispatcher } from "./dispatcher.ts";

/** The dependencies of the outbound side beside its actor's context. */
export interface OutboundDeps {
  /** Requests go to addresses that a caller chose: never anything but the guarded transport. */
  readonly egress: Transport;
  readonly masterSecret: string | undefined;
  readonly formerMasterSecrets: readonly string[];
  readonly log: Log;
  readonly retention: DeliveryRetention;
  readonly agents: AgentTargets;
  /** @default no tracing */
  readonly tracer: Tracer | undefined;
}

type OwnApplications = ReturnType<typeof applications>;
type Endpoints = ReturnType<typeof endpoints>;
type Deliveries = ReturnType<typeof deliveries>;

export interface OutboundMethods {
  /** `limits` are those of an application. */
  createEndpoint(input: EndpointInput, limits?: ApplicationLimits): Promise<EndpointWithSecret>;
  listEndpoints: Endpoints["list"];
  getEndpoint: Endpoints["get"];
  updateEndpoint: Endpoints["update"];
  deleteEndpoint: Endpoints["remove"];
  rotateSecret: Endpoints["rotate"];
  /** Throws 429 beyond the rate of an application. */
  send(input: SendInput, limits?: ApplicationLimits): Promise<SendResult>;
  checkRepeated: Deliveries["checkRepeated"];
  listDeliveries: Deliveries["list"];
  getDelivery: Deliveries["get"];
  /** Throws 429 beyond the rate of an application. */
  replay(id: string, limits?: ApplicationLimits): ReturnType<Deliveries["replay"]>;
  /** Replays as many as the rate of an application allows; throws 429 without any. */
  replayAll(
    filter: DeliveryFilter,
    limits?: ApplicationLimits,
  ): ReturnType<Deliveries["replayAll"]>;
  stats(): ReturnType<typeof readStats>;
  topics: Topics["list"];
  createApplication: OwnApplications["create"];
  listApplications: OwnApplications["list"];
  getApplication: OwnApplications["get"];
  updateApplication: OwnApplications["update"];
  hideApplication: OwnApplications["hide"];
  forgetApplication: OwnApplications["forget"];
  /** Deletes everything that an application had; called on the application's own actor. */
  deleteRows(): Promise<void>;
}

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
    start: (context) => startOutbound(context, { ...deps, ofApplications }),
  };
}

async function startOutbound(
  context: ActorContext,
  deps: OutboundDeps & { readonly ofApplications: RequestsInFlight },
): Promise<Actor> {
  const clock = await startClock(context, async () => {
    const due = await nextDue(context);
    // Rows that wait for their endpoint stay due: with their time the alarm would come before those of all other senders.
    return due === null ? null : Math.max(due, context.steady());
  });
  const sealer = startSealer(context, deps.masterSecret, deps.formerMasterSecrets);
  const secrets = endpointSecrets(context, sealer);
  const inTurn = turns();
  const figures = topics(context);
  const { agents, egress } = deps;
  const parts = { context, clock, inTurn, sealer, secrets, topics: figures };
  const dispatcher = startDispatcher({ ...deps, ...parts });
  const notify = (ids: readonly string[]): void => {
    dispatcher.notify(ids);
  };
  const own = endpoints(context, { secrets, sealer, clock, inTurn, egress, agents, notify });
  const queue = deliveries(context, clock, deps.retention, notify);
  const customers = applications(context);
  const allowed = allowance(context);
  const methods: OutboundMethods = {
    createEndpoint: (input, limits) => own.create(input, limits?.max_endpoints ?? ENDPOINT_LIMIT),
    listEndpoints: () => own.list(),
    getEndpoint: (id) => own.get(id),
    updateEndpoint: (id, patch) => own.update(id, patch),
    deleteEndpoint: (id) => own.remove(id),
    rotateSecret: (id, input) => own.rotate(id, input),
    send(input, limits) {
      allowed(limits);
      return queue.send(input);
    },
    checkRepeated: (input) => queue.checkRepeated(input),
    listDeliveries: (query) => queue.list(query),
    getDelivery: (id) => queue.get(id),
    replay(id, limits) {
      allowed(limits);
      return queue.replay(id);
    },
    replayAll: (filter, limits) => queue.replayAll(filter, (wanted) => allowed(limits, wanted)),
    stats: () => readStats(context),
    topics: () => figures.list(),
    createApplication: (input) => customers.create(input),
    listApplications: (limit, cursor) => customers.list(limit, cursor),
    getApplication: (id) => customers.get(id),
    updateApplication: (id, patch) => customers.update(id, patch),
    hideApplication: (id) => customers.hide(id),
    forgetApplication: (id) => customers.forget(id),
    deleteRows: () => deleteRows(context),
  };
  return {
    methods: { ...methods },
    onAlarm: () => clock.onAlarm(() => dispatcher.run()),
  };
}

/** Returns how many messages an application may send at the moment; all that are wanted where nothing is limited. Throws 429. */
function allowance({
  steady,
}: Pick<ActorContext, "steady">): (limits?: ApplicationLimits, wanted?: number) => number {
  const rate = messageRate();
  return (limits, wanted = 1) =>
    limits === undefined ? wanted : rate.take(limits.messages_per_second, steady(), wanted);
}
