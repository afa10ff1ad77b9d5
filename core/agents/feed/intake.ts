import type { IncomingEvent, IngestReceipt } from "../../entity/event.ts";
import type { Clock } from "../../entity/clock.ts";
import type { ActorContext } from "../../ports.ts";
import type { AnyAgent } from "../define/definition.ts";
import { ingest, isClaimed, pruneEvery, type Claim } from "./ingest.ts";
import type { Live } from "./live.ts";
import type { Reports } from "./reports.ts";
import type { StateHolder } from "../state/state.ts";

/** What an intake works with. */
export interface IntakeDeps {
  readonly context: ActorContext;
  readonly definition: AnyAgent;
  readonly agent: string;
  readonly clock: Clock;
  readonly state: StateHolder;
  readonly live: Live;
  readonly reports: Reports;
}

/**
 * Stores events for an instance; those who follow it hear of them after the commit. Remembers what the entity's row
 * says and when retention ran, so that the usual event is one statement.
 */
export function startIntake(deps: IntakeDeps): (event: IncomingEvent) => Promise<IngestReceipt> {
  const { agent, clock, context, definition, live, reports, state } = deps;
  /** The newest claim that is stored. */
  let known: Claim | undefined;
  /** Events since retention by count ran; at the start it is due. */
  let unpruned = Number.POSITIVE_INFINITY;

  return async (event) => {
    const { maxEvents } = event.retention;
    const prunes = maxEvents !== null && ++unpruned >= pruneEvery(maxEvents);
    if (prunes) unpruned = 0;
    const announces = reports.isStale() ? reports : null;
    const receipt = await ingest(event, {
      agent,
      clock,
      now: context.system.now(),
      steady: context.steady(),
      jobId: definition.onEvent === undefined ? null : context.system.id(),
      isClaimed: known !== undefined && announces === null && isClaimed(known, event),
      owner: known?.owner ?? null,
      sql: context.sql,
      prunes,
      reports: announces,
    });
    if (announces !== null) reports.renew();
    if (receipt.outcome === "stored") {
      const { canonical, retention } = event;
      known = { canonical, retention, owner: receipt.owner };
      state.addEvent(receipt.seq, event.record);
      live.publish(receipt.seq, event.record);
    }
    return receipt;
  };
}
