import { ApiError } from "../../../http/api-error.ts";
import type { HeaderPair, Log } from "../../../ports.ts";
import { ownHeaders } from "../../wire/own-headers.ts";
import type { CheckPhase, CheckResult, Finding } from "../detect/checker.ts";
import type { SlicePause } from "../text/slices.ts";
import { unavailable } from "./judge.ts";
import type { CheckPolicy } from "./policies.ts";
import { type DlpFinding, dlpNote, type DlpReport } from "../../call/forwarded.ts";

/** Characters of the header: under both prefixes it has to fit into what clients take of all headers, often 16 KiB. */
const HEADER_LIMIT = 3000;

const weightiest = ["BLOCK", "MASK", "FLAG"] as const;

export function joinReports(first: DlpReport | null, second: DlpReport | null): DlpReport | null {
  if (first === null || second === null) return first ?? second;
  const actions = [first.action, second.action];
  const action = weightiest.find((one) => actions.includes(one)) ?? "FLAG";
  return { action, findings: [...first.findings, ...second.findings] };
}

/** Makes the header of a report, under both prefixes; empty without a report. */
export function dlpHeaders(report: DlpReport | null): HeaderPair[] {
  if (report === null) return [];
  const { action } = report;
  const shown: DlpFinding[] = [];
  for (const finding of report.findings) {
    if (asciiJson({ findings: [...shown, finding], action }).length > HEADER_LIMIT) break;
    shown.push(finding);
  }
  return ownHeaders("dlp", asciiJson({ findings: shown, action }));
}

/** JSON whose every character stands for itself in a header. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[^\x20-\x24\x26-\x7e]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

export interface Inspection {
  readonly signal: AbortSignal;
  readonly log: Log;
  /** @default long texts are checked without a pause */
  readonly pause?: SlicePause | undefined;
}

/**
 * Checks a text by all policies of its phase. Resolves to what DLP flagged. Throws `prompt_blocked`, `response_blocked`,
 * `request_dlp_blocked` or `response_dlp_blocked`, and `scanner_unavailable` when a check that may block cannot be made:
 * such a text does not pass unseen.
 */
export async function inspect(
  text: string,
  phase: CheckPhase,
  policies: readonly CheckPolicy[],
  { signal, log, pause }: Inspection,
): Promise<DlpReport | null> {
  const results = new Map<string, Promise<CheckResult>>();
  let report: DlpReport | null = null;
  for (const policy of policies) {
    const found = await findingsOf(policy);
    const blocking = found.filter(
      ({ type, onlyFlags }) => onlyFlags !== true && policy.actionOf(type) !== "FLAG",
    );
    if (found.length === 0) continue;
    if (policy.kind === "guardrails") {
      if (blocking.length > 0) throw guardrailsBlocked(phase, blocking);
      log("info", "Guardrails flagged a text", { phase, categories: typesOf(found).join(",") });
      continue;
    }
    const action = blocking.length > 0 ? "BLOCK" : "FLAG";
    const left =
      policy.masks === undefined ? found : found.map((one) => ({ ...one, reason: LEFT }));
    report = joinReports(report, reportOf(policy, phase, left, action));
  }
  if (report?.action === "BLOCK") throw dlpBlocked(phase, report);
  return report;

  async function findingsOf(policy: CheckPolicy): Promise<readonly Finding[]> {
    try {
      const { action, findings } = await once(policy);
      return action === "allow"
        ? []
        : findings.filter(({ type }) => policy.actionOf(type) !== null);
    } catch (error) {
      if (policy.blocks) throw cannotCheck(policy, error);
      log("warn", "A checker failed", { policy: policy.id, profile: policy.profile, phase });
      return [];
    }
  }

  /** Two policies may name the same profile. */
  function once({ kind, profile, checker }: CheckPolicy): Promise<CheckResult> {
    const key = `${kind}/${profile}`;
    let result = results.get(key);
    if (result === undefined) {
      result = run(checker, profile);
      results.set(key, result);
    }
    return result;
  }

  async function run(checker: CheckPolicy["checker"], profile: string): Promise<CheckResult> {
    if (checker === null) throw unavailable(`There is no checker for "${profile}"`);
    return checker.check(text, phase, signal, pause);
  }
}

function cannotCheck(policy: CheckPolicy, error: unknown): ApiError {
  if (error instanceof ApiError && error.kind === "scanner_unavailable") return error;
  return unavailable(`The check "${policy.profile}" of "${policy.id}" failed`, error);
}

function typesOf(findings: readonly Finding[]): string[] {
  return [...new Set(findings.map(({ type }) => type))];
}

/** Why a policy that masks holds a text back. */
const LEFT = "found where it cannot be masked";

export function reportOf(
  { id, profile }: CheckPolicy,
  phase: CheckPhase,
  found: readonly Finding[],
  action: DlpReport["action"],
): DlpReport {
  const reason = found.find((one) => one.reason !== undefined)?.reason;
  const context = reason === undefined ? {} : { reason };
  const finding: DlpFinding = {
    profile: { context, entry_ids: typesOf(found), profile_id: profile },
    policy_ids: [id],
    check: phase === "prompt" ? "REQUEST" : "RESPONSE",
  };
  return { action, findings: [finding] };
}

/** Clients of the hosted service know a verdict by its code or by these words. */
function guardrailsBlocked(phase: CheckPhase, found: readonly Finding[]): ApiError {
  const what = phase === "prompt" ? "Prompt" : "Response";
  return new ApiError(phase === "prompt" ? "prompt_blocked" : "response_blocked", {
    message: `${what} blocked due to security configurations: ${typesOf(found).join(", ")}`,
    headers: { "x-should-retry": "false" },
  });
}

function dlpBlocked(phase: CheckPhase, report: DlpReport): ApiError {
  const what = phase === "prompt" ? "Request" : "Response";
  const policies = new Set(report.findings.flatMap(({ policy_ids: ids }) => ids));
  const why = dlpNote(report);
  const told = why === null ? "" : ` (${why})`;
  return new ApiError(phase === "prompt" ? "request_dlp_blocked" : "response_dlp_blocked", {
    message:
      `${what} content blocked due to DLP policy violations: ${[...policies].join(", ")}${told}`.slice(
        0,
        300,
      ),
    headers: { ...Object.fromEntries(dlpHeaders(report)), "x-should-retry": "false" },
  });
}
