import type { BreakOff, InboundResponse, StreamWatch } from "../../ports.ts";
import type { TransportError } from "../../net/transport-error.ts";
import type { Call, Step } from "./call.ts";
import type { Checks } from "./checks.ts";
import type { Forwarded } from "./forwarded.ts";
import type { Outbound } from "./outbound.ts";

/** One step that may be answered: its request is ready. */
export interface StepRun {
  readonly step: Step;
  readonly index: number;
  /** Whether no other step could take over. */
  readonly isLast: boolean;
  readonly call: Call;
  readonly prepared: Outbound;
  readonly checks: Checks | null;
}

/** Answers steps: with an answer that is kept, with one that is shared, or by asking the provider through `flow`. */
export type Answers = (run: StepRun, flow: Flow) => Promise<Forwarded> | Forwarded;

/** The ways in which {@link Answers} can go on with a step. */
export interface Flow {
  /** Asks the provider, from attempt number `first` (1) on. */
  ask(run: StepRun, share?: ShareAnswer | null, first?: number): Promise<Forwarded>;
  /** Hands on an answer that was kept. */
  serve(run: StepRun, reply: InboundResponse): Promise<Forwarded> | Forwarded;
  /** Notes an attempt that brought no answer, and asks again if the policy allows it; throws `provider_failed` else. */
  askAgain(run: StepRun, failure: TransportError): Promise<Forwarded>;
  /** Milliseconds within which an answer has to begin. */
  maxWait(call: Call): number;
}

/** An answer whose bytes are watched on their way. */
export interface PassingAnswer {
  readonly answer: InboundResponse;
  /** Breaks a stream off; null for an answer without one. */
  readonly breakOff: BreakOff | null;
  /** Ends the provider's stream for all requests that read it. @default only this request reads it */
  readonly stop?: (reason: Error) => void;
}

/** Hands an answer on to others that wait for it, too. Returns the copy of the one that asked; `watch` sees the provider's bytes. */
export type ShareAnswer = (answer: InboundResponse, watch: StreamWatch) => PassingAnswer;
