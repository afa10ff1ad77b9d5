import { ownMember } from "../../../http/json.ts";
import type { ChatModel } from "../../../ports.ts";
import type {
  Dlp,
  DlpAction,
  DlpPolicy,
  Guardrails,
  SafetyAction,
} from "../../account/settings/safety-settings.ts";
import { creditCard } from "../detect/card-number.ts";
import { iban } from "../detect/iban.ts";
import { type Pattern, patternChecker, spansOf } from "../detect/pattern.ts";
import { secretPattern } from "../detect/secrets.ts";
import type { Checker, CheckPhase } from "../detect/checker.ts";
import { llmJudge } from "./judge.ts";

/** An operator's options for the checks. */
export interface SafetyOptions {
  /** DLP profiles beside the built-in ones; one of the same name replaces it. @default {} */
  readonly checkers?: Readonly<Record<string, Checker>> | undefined;
  /** The model that judges texts for `guardrails`, in OpenAI's chat format. @default none */
  readonly judge?: ChatModel | undefined;
  /** Sent to the judge as `model`. @default "guard" */
  readonly judgeModel?: string | undefined;
}

/** The settings of a gateway that concern its checks. */
export interface SafetySettings {
  readonly guardrails?: Guardrails | null | undefined;
  readonly dlp?: Dlp | null | undefined;
}

export interface CheckPolicy {
  readonly kind: "guardrails" | "dlp";
  /** Names it to the client. */
  readonly id: string;
  readonly profile: string;
  /** Null: the operator has not provided it. */
  readonly checker: Checker | null;
  /** Decides on a text with a finding of this type. */
  readonly actionOf: (type: string) => DlpAction | null;
  /** Whether it may hold a text back: then a checker that fails does so as well. */
  readonly blocks: boolean;
  /** Forms that are replaced before the check; it holds back what could not be. @default none */
  readonly masks?: readonly Pattern[] | undefined;
}

/** Returns the names of all profiles that a policy can use. */
export function profileNames({ checkers = {} }: SafetyOptions): string[] {
  return [...new Set([...Object.keys(profiles), ...Object.keys(checkers)])];
}

/** Returns the checks of a phase, guardrails first: a blocked prompt needs no further look. */
export function policiesOf(
  { guardrails, dlp }: SafetySettings,
  phase: CheckPhase,
  options: SafetyOptions,
): CheckPolicy[] {
  const found = guardrails == null ? [] : guardrailPolicies(guardrails[phase], options);
  return dlp?.enabled === true ? [...found, ...dlpPolicies(dlp, phase, options)] : found;
}

function guardrailPolicies(
  actions: Readonly<Record<string, SafetyAction>>,
  { judge, judgeModel }: SafetyOptions,
): CheckPolicy[] {
  const categories = Object.keys(actions);
  if (categories.length === 0) return [];
  const checker =
    judge === undefined ? null : llmJudge({ ask: judge, model: judgeModel, categories });
  return [
    {
      kind: "guardrails",
      id: "guardrails",
      profile: "guardrails",
      checker,
      actionOf: (type) => ownMember(actions, type) ?? null,
      blocks: Object.values(actions).includes("BLOCK"),
    },
  ];
}

function dlpPolicies(dlp: Dlp, phase: CheckPhase, { checkers = {} }: SafetyOptions): CheckPolicy[] {
  const known = { ...profiles, ...checkers };
  const side = phase === "prompt" ? "REQUEST" : "RESPONSE";
  return (
    longForm(dlp)
      .filter(({ enabled, check }) => enabled && check.includes(side))
      // The short form checks both directions; only requests are masked.
      .filter(({ action }) => action !== "MASK" || phase === "prompt")
      .flatMap(({ id, action, profiles: names }) =>
        names.map((profile): CheckPolicy => {
          const checker = ownMember(known, profile) ?? null;
          const blocks = action !== "FLAG";
          const masks = action === "MASK" ? (patternsOf[profile] ?? []) : undefined;
          return { kind: "dlp", id, profile, checker, actionOf: () => action, blocks, masks };
        }),
      )
  );
}

/** The short form is one policy for both directions. */
function longForm(dlp: Dlp): readonly DlpPolicy[] {
  if ("policies" in dlp) return dlp.policies;
  const { action, profiles: names } = dlp;
  return [{ id: "dlp", enabled: true, action, check: ["REQUEST", "RESPONSE"], profiles: names }];
}

/** Lists the profiles of a setting that are not configured. */
export function unknownProfiles(dlp: Dlp | null | undefined, options: SafetyOptions): string[] {
  if (dlp == null) return [];
  const known = profileNames(options);
  return longForm(dlp)
    .flatMap((policy) => policy.profiles)
    .filter((profile) => !known.includes(profile));
}

/** Says which profile of a setting cannot be used as it is; null for none. */
export function dlpProblem(dlp: Dlp | null | undefined, options: SafetyOptions): string | null {
  const [unknown] = unknownProfiles(dlp, options);
  if (unknown !== undefined)
    return `there is no profile "${unknown.slice(0, 64)}", only ${profileNames(options).join(", ")}`;
  const { checkers = {} } = options;
  // Only patterns know where something is.
  const canMask = (name: string): boolean =>
    Object.hasOwn(patternsOf, name) && !Object.hasOwn(checkers, name);
  const unfit = (dlp == null ? [] : longForm(dlp))
    .filter(({ action }) => action === "MASK")
    .flatMap((policy) => policy.profiles)
    .find((name) => !canMask(name));
  return unfit === undefined
    ? null
    : `the profile "${unfit.slice(0, 64)}" cannot mask, only ${Object.keys(patternsOf).join(", ")}`;
}

/** E-mail addresses. */
const email: Pattern = byForm(
  "email",
  null,
  /(?<![\w.%+-])[\w.%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9])/g,
);

/** Phone numbers: with a country code (E.164), or in the North American form. */
const phone: Pattern = byForm(
  "phone",
  /^(?:\+|\(?\d{3})/,
  /(?<![\w.+])\+[1-9]\d{0,2}[\n .-]?(?:\(\d{1,4}\)[\n .-]?)?\d(?:[\n .-]?\d){5,12}(?!\d)/g,
  /(?<![\w.+-]|\d )(?:1[ .-])?(?:\(\d{3}\)[\n ]?|\d{3}[.-])\d{3}[.-]\d{4}(?![\w-])/g,
);

/** United States social security numbers, ranges that were never given out excluded. */
const usSsn: Pattern = byForm(
  "us_ssn",
  /^\d{3}-/,
  /(?<![\w-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])/g,
);

/** The forms of the built-in DLP profiles by the name that a policy uses. */
const patternsOf: Readonly<Record<string, readonly Pattern[]>> = {
  secrets: [secretPattern],
  financial: [creditCard, iban],
  pii: [email, phone, usSsn],
  credit_card: [creditCard],
  iban: [iban],
  email: [email],
  phone: [phone],
  us_ssn: [usSsn],
};

export const profiles: Readonly<Record<string, Checker>> = Object.fromEntries(
  Object.entries(patternsOf).map(([name, patterns]) => [name, patternChecker(patterns)]),
);

function byForm(type: string, begins: RegExp | null, ...forms: readonly RegExp[]): Pattern {
  return { type, ...(begins === null ? {} : { begins }), find: (text) => spansOf(text, forms) };
}
