import * as v from "valibot";
import { plainText } from "../../../http/plain-text.ts";
import { hazards } from "./hazards.ts";

const action = v.picklist(["FLAG", "BLOCK"]);
const dlpAction = v.picklist(["FLAG", "BLOCK", "MASK"]);
const id = plainText(128);
const profileList = v.pipe(v.array(id), v.maxLength(50));

/** The action on a text in which something was found. */
export type SafetyAction = "FLAG" | "BLOCK";

/** What data loss prevention does with its findings; `MASK` replaces them in requests, and puts them back in answers. */
export type DlpAction = SafetyAction | "MASK";

/** The setting `guardrails`: what happens to which kind of harm. */
export type Guardrails = {
  prompt: Record<string, SafetyAction>;
  response: Record<string, SafetyAction>;
};

/** One policy of the setting `dlp`. */
export type DlpPolicy = {
  id: string;
  enabled: boolean;
  action: DlpAction;
  check: ("REQUEST" | "RESPONSE")[];
  profiles: string[];
};

/** The setting `dlp`, in the short or the long form of the official SDK. */
export type Dlp =
  | { enabled: boolean; action: DlpAction; profiles: string[] }
  | { enabled: boolean; policies: DlpPolicy[] };

const byHazard = v.record(
  v.picklist(Object.keys(hazards), `expected ${Object.keys(hazards).join(", ")}`),
  action,
);

/** Checks the setting `guardrails`. */
export const guardrails: v.GenericSchema<unknown, Guardrails> = v.object({
  prompt: v.optional(byHazard, {}),
  response: v.optional(byHazard, {}),
});

const policy = v.pipe(
  v.object({
    id,
    enabled: v.boolean(),
    action: dlpAction,
    check: v.pipe(v.array(v.picklist(["REQUEST", "RESPONSE"])), v.minLength(1)),
    profiles: profileList,
  }),
  v.check(
    (one) => one.action !== "MASK" || !one.check.includes("RESPONSE"),
    'Only requests are masked: expected "check": ["REQUEST"]',
  ),
);

/** Checks the setting `dlp`. */
export const dlp: v.GenericSchema<unknown, Dlp> = v.union(
  [
    v.object({
      enabled: v.boolean(),
      policies: v.pipe(v.array(policy), v.maxLength(20, "at most 20 policies are allowed")),
    }),
    v.object({ enabled: v.boolean(), action: dlpAction, profiles: profileList }),
    v.pipe(
      v.object({ enabled: v.literal(false) }),
      v.transform(() => ({ enabled: false, policies: [] })),
    ),
  ],
  'expected "enabled" with "policies", or with "action" and "profiles"',
);
