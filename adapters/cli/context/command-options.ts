import { parseArgs, type ParseArgsConfig } from "node:util";
import { ApiError } from "../../../core/http/api-error.ts";
import { choiceHint, didYouMean } from "../../../core/text/nearest.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;

/** Reads the options of a command and what stands beside them; throws one line that says what is wrong. */
export function readOptions<T extends Options>(
  args: readonly string[],
  options: T,
): ReturnType<typeof parseArgs<{ options: T; allowPositionals: true }>> {
  const known = Object.keys(options);
  for (const arg of args) {
    const name = /^--([^=]+)/u.exec(arg)?.[1];
    if (name === undefined || known.includes(name)) continue;
    const longer = known.find((one) => one.startsWith(name));
    const guess = longer === undefined ? didYouMean(name, known) : `: did you mean "${longer}"?`;
    throw new TypeError(`Unknown option "--${name}"${guess}`);
  }
  return parseArgs({ args: [...args], options, allowPositionals: true });
}

/** Returns the word that says what a command of several does. */
export function subcommand<T extends string>(
  command: string,
  word: string | undefined,
  words: readonly T[],
): T {
  const found = words.find((one) => one === word);
  if (found !== undefined) return found;
  const guess = choiceHint(word ?? "", words);
  throw new TypeError(`Unknown command "${command} ${word ?? ""}"${guess}`);
}

/** Refuses anything but the address of a server. */
export function checkServerUrl(url: string | undefined): void {
  if (url !== undefined && !/^https?:$/u.test(URL.parse(url)?.protocol ?? ""))
    throw new TypeError(`--url must be an http or https address, got "${url}"`);
}

/** Details of a failed command, beside its message. */
interface FailureFacts {
  /** The step that helps. */
  readonly hint: string;
}

/** Makes a failure that says what to do about it. */
export function commandFailure(message: string, hint: string): Error {
  const facts: FailureFacts = { hint };
  return new Error(message, { cause: facts });
}

/**
 * Returns the lines for a failure, and the exit code: 2 for a command line or configuration that cannot be right, else 1.
 */
export function failureReport(error: unknown): { readonly text: string; readonly code: 1 | 2 } {
  const message = error instanceof Error ? error.message : String(error);
  const facts = error instanceof Error ? error.cause : undefined;
  const hint = hasHint(facts) ? `hint: ${facts.hint}\n` : "";
  const isUsage =
    error instanceof TypeError ||
    (error instanceof ApiError && ["invalid_request", "invalid_options"].includes(error.kind));
  return { text: `error: ${message}\n${hint}`, code: isUsage ? 2 : 1 };
}

function hasHint(facts: unknown): facts is FailureFacts {
  return typeof facts === "object" && facts !== null && "hint" in facts;
}
