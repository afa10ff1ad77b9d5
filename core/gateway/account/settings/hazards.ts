/** Kinds of harm that guardrails know: the thirteen of MLCommons' taxonomy and prompt injection. */
export const hazards: Readonly<Record<string, string>> = {
  S1: "violent crimes",
  S2: "non-violent crimes",
  S3: "sex crimes",
  S4: "child exploitation",
  S5: "defamation",
  S6: "specialized advice that could harm",
  S7: "privacy",
  S8: "intellectual property",
  S9: "indiscriminate weapons",
  S10: "hate",
  S11: "self-harm",
  S12: "sexual content",
  S13: "elections",
  P1: "prompt injection and jailbreaks",
};
