import { parseArgs, type ParseArgsConfig } from "node:util";
import { didYouMean } from "../../core/http/nearest.ts";

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

/** Refuses what is no address of a server. */
export function checkServerUrl(url: string | undefined): void {
  if (url !== undefined && !/^https?:$/u.test(URL.parse(url)?.protocol ?? ""))
    throw new TypeError(`--url must be an http or https address, got "${url}"`);
}
