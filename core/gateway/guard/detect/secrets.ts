import { type Pattern, spansOf } from "./pattern.ts";

/**
 * Formats of credentials. Each begins where no letter, digit, `_` or `-` stands before it and repeats one
 * class of characters, so that a text is read once, whatever is in it. It goes no further than it has to: a repetition
 * without a bound outgrows the stack of the expression in a run of millions.
 */
const formats: readonly RegExp[] = [
  // OpenAI, Anthropic, OpenRouter, DeepSeek …
  /(?<![\w-])sk-[\w-]{20}/g,
  // Stripe, restricted keys and webhook secrets
  /(?<![\w-])(?:[sr]k_live_|whsec_)[A-Za-z0-9+/=]{16}/g,
  // AWS access key ids
  /(?<![\w-])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![\w-])/g,
  // GitHub, GitLab, npm, PyPI, Hugging Face
  /(?<![\w-])(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{22})/g,
  /(?<![\w-])(?:glpat-[\w-]{20}|npm_[A-Za-z0-9]{36}|pypi-[\w-]{50}|hf_[A-Za-z0-9]{30})/g,
  // Google API keys and OAuth client secrets
  /(?<![\w-])(?:AIza[\w-]{35}(?![\w-])|GOCSPX-[\w-]{28})/g,
  // Groq, xAI, Perplexity, Replicate, Fireworks, Cerebras
  /(?<![\w-])(?:gsk_[A-Za-z0-9]{40}|xai-[A-Za-z0-9]{60}|pplx-[A-Za-z0-9]{40})/g,
  /(?<![\w-])(?:r8_[A-Za-z0-9]{35}|fw_[A-Za-z0-9]{20}|csk-[a-z0-9]{40})/g,
  // Slack tokens and webhooks, SendGrid, Twilio
  /(?<![\w-])xox[abeoprs]-[A-Za-z0-9-]{10}/g,
  /hooks\.slack\.com\/services\/T[A-Z0-9]{6,12}\/B[A-Z0-9]{6,12}\/[A-Za-z0-9]{20}/g,
  /(?<![\w-])(?:SG\.[\w-]{22}\.[\w-]{43}|SK[0-9a-f]{32})(?![\w-])/g,
  // JSON Web Tokens
  /(?<![\w-])eyJ[\w-]{10,2048}\.eyJ[\w-]{10,16384}\.[\w-]{10}/g,
  // PEM private keys
  /-----BEGIN (?:[A-Z]{1,12} )?PRIVATE KEY(?: BLOCK)?-----/g,
];

/** What a credential goes on with, as far as the longest ones have it. */
const rest = /[\w+/=.-]{0,20000}/y;

/** Credentials in the formats of well-known services. */
export const secretPattern: Pattern = {
  type: "secret",
  begins:
    /^(?:[sr]k[-_]|whsec_|A(?:KIA|SIA|BIA|CCA)|gh[pousr]_|github_pat_|glpat-|npm_|pypi-|hf_|AIza|GOCSPX-|gsk_|xai-|pplx-|r8_|fw_|csk-|xox|SG\.|SK|eyJ|-----BEGIN)/,
  find: (text) => spansOf(text, formats),
  whole(text, { start, end }) {
    // The key itself is on the lines below.
    if (text.startsWith("-----BEGIN", start)) return null;
    rest.lastIndex = end;
    rest.test(text);
    return { start, end: Math.max(end, rest.lastIndex) };
  },
};
