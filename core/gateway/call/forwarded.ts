import type { InboundResponse } from "../../ports.ts";
import type { Call } from "./call.ts";
import type { DlpAction } from "../account/settings/safety-settings.ts";

/** The answer of a provider, or of the cache, on its way to the client. */
export interface Forwarded {
  readonly reply: InboundResponse;
  readonly logId: string;
  /** Index of the step that answered. */
  readonly step: number;
  readonly cached: boolean;
  /** How alike the questions are if this is a kept answer to a question in other words, at most 1. */
  readonly similarity?: number;
  /** Whether the answer is a failure that another step could make good. */
  readonly failed: boolean;
  /** The status of the failure that an answer with a status of success reports. @default it reports none */
  readonly failureStatus?: number;
  /** The model that a dynamic route or the automatic router led to. */
  readonly answeredBy?: { readonly provider: string; readonly model: string };
  readonly routing?: { readonly id: string; readonly model: string; readonly reason: string };
  /** The findings of data loss prevention. */
  readonly dlp: DlpReport | null;
  /** The call with the step's own controls. */
  readonly call: Call;
  /** Whether the caller brought the provider's credential. */
  readonly bringsKey: boolean;
  /** The parameters that had to go, because the model does not take them. @default nothing */
  readonly dropped?: readonly string[];
  /** The figure of the answer that is an estimate. @default nothing is */
  readonly estimated?: string | undefined;
  /** The id by which the stream can be taken up again. */
  readonly runId?: string;
}

/** One entry of the response header `dlp`: which profile matched, by which policy. No matched text. */
export interface DlpFinding {
  readonly profile: {
    /** `reason`: what the checker says of it. */
    readonly context: { readonly reason?: string };
    readonly entry_ids: readonly string[];
    readonly profile_id: string;
  };
  readonly policy_ids: readonly string[];
  readonly check: "REQUEST" | "RESPONSE";
}

/** The findings of DLP in a request and its answer. */
export interface DlpReport {
  readonly action: DlpAction;
  readonly findings: readonly DlpFinding[];
}

/** Returns the checkers that gave a reason, and their reasons; null where none did. */
export function dlpNote({ findings }: DlpReport): string | null {
  const told = findings.flatMap(({ profile: { profile_id: name, context } }) =>
    context.reason === undefined ? [] : `${name}: ${context.reason}`,
  );
  return told.length === 0 ? null : [...new Set(told)].join("; ");
}
