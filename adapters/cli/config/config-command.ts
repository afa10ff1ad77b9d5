import process from "node:process";
import { choiceHint } from "../../../core/text/nearest.ts";
import { counted } from "../../shared/work/counted.ts";
import { checkedConfig, readServeOptions } from "./serve-options.ts";
import { shownConfig, type ShownSetting } from "./shown-config.ts";

const help = `Usage: causey config check [options]
       causey config show [options]

check: says whether a server would start with this configuration, without starting one.
show: prints every setting in force, and its source: a flag, a variable, the file or the default. It hides secrets;
"env:NAME" names the variable of a secret.

All options of causey serve, and:

  --json             JSON, one object
`;

const commands = ["check", "show"] as const;

/** Runs `causey config check` or `causey config show`. */
export async function configCommand(args: readonly string[]): Promise<void> {
  const { flags, json, help: asked, positionals } = readServeOptions(args);
  const [name = "", ...more] = positionals;
  if (asked || args.length === 0) return void process.stdout.write(help);
  if (!commands.some((one) => one === name) || more.length > 0)
    throw new TypeError(
      `Unknown command "config ${positionals.join(" ")}"${choiceHint(name, commands)}`,
    );
  const { written } = checkedConfig(flags, process.env);
  const shown = shownConfig(written, (variable) => process.env[variable]);
  if (name === "check") {
    const given = shown.filter(({ source }) => source !== "default").length;
    print(
      json
        ? { valid: true, settings: given }
        : `The configuration is right: ${counted(given, "setting")}`,
    );
  } else print(json ? { settings: shown } : table(shown));
}

function print(what: string | object): void {
  process.stdout.write(`${typeof what === "string" ? what : JSON.stringify(what)}\n`);
}

function table(shown: readonly ShownSetting[]): string {
  const rows = shown.map(({ key, value, source }) => [key, JSON.stringify(value), source] as const);
  const width = (column: 0 | 1): number => Math.max(...rows.map((row) => row[column].length));
  const [keys, values] = [width(0), width(1)];
  return rows
    .map(([key, value, source]) => `${key.padEnd(keys)}  ${value.padEnd(values)}  ${source}`)
    .join("\n");
}
