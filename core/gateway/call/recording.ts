import type { HeaderPair } from "../../ports.ts";
import type { TokenUsage } from "../chat/usage.ts";
import type { AnswerFailure } from "./attempt.ts";
import type { LoggedBody, LogRow } from "./ended-attempt.ts";
import type { Call, Step } from "./call.ts";
import type { DlpReport } from "./forwarded.ts";
import type { Outbound } from "./outbound.ts";

export interface Recorder {
  start(step: Step, index: number, call: Call): Recording;
  /** Bytes of each body of a call that its row, or its trace, will keep. */
  keptBytes(call: Call): number;
  /** Whether anybody wants to know what an answer has used. */
  wantsUsage(call: Call): boolean;
}

/** One attempt, while its end is not known. */
export interface Recording {
  readonly id: string;
  /** Bytes of the answer that the row will keep. */
  readonly keep: number;
  /** Names the attempt's span to the provider; undefined without tracing. */
  readonly traceparent: string | undefined;
  /** Watches the answer's bytes; null where no observer needs its content. */
  watch(headers: readonly HeaderPair[], sent: Outbound): AnswerWatch | null;
  /** Tells all observers; returns what is to be charged in USD, null = not known. Called once. */
  finish(result: RecordedResult): number | null;
}

/** Watches the bytes of an answer pass by. It never holds them up and never changes them. */
export interface AnswerWatch {
  push(chunk: Uint8Array): void;
  /** Counts the tokens of a stream that have passed so far. @default they are not seen on their way */
  passed?(): number;
  /** Returns what was seen, once the last chunk has been pushed. */
  finish(): Promise<Observation> | Observation;
}

export interface ReportedFailure extends AnswerFailure {
  /** Whether the answer is nothing else. */
  readonly isAll: boolean;
}

/** The facts that were seen in an answer. */
export interface Observation {
  readonly usage: TokenUsage;
  readonly body: LoggedBody;
  /** Counts the tokens that have passed, as far as they can be seen. @default not counted */
  readonly passed?: () => number;
  /** The failure that the answer reports. @default it reports nothing but by its status */
  readonly failure?: ReportedFailure | null;
  /** Whether the last event of a stream has passed: clients may leave then, as OpenAI's does. @default no */
  readonly isOver?: boolean;
}

export interface RecordedResult {
  /** Null when no answer came. */
  readonly status: number | null;
  /** Whether the answer came whole. */
  readonly complete: boolean;
  /** Whether the client was gone before its end. @default false */
  readonly left?: boolean;
  readonly headers: readonly HeaderPair[];
  readonly seen: Observation | null;
  /** Why there is no answer. @default said by the answer */
  readonly note?: string;
  /** The failure of an answer that was not delivered. @default as seen */
  readonly failure?: AnswerFailure | null;
  /** @default false */
  readonly cached?: boolean;
  /** The findings of data loss prevention. @default none */
  readonly dlp?: DlpReport | null;
  /** Held back by a check: then the row keeps no body, or it would keep what was found. @default false */
  readonly blocked?: boolean;
  /** Members of the row that are known better than from the request alone. @default none */
  readonly about?: Partial<Pick<LogRow, "model" | "modelType" | "requestType" | "request">>;
}

/** Whether a call leaves rows: its header, else the gateway's setting. */
export function collectsLog(call: Call): boolean {
  return call.controls.collectLog ?? call.settings.collect_logs;
}
