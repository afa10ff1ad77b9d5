// Runs many command lines in one process, and prints what each said and how it ended: JSON.
import process from "node:process";
import { failureReport } from "../../adapters/cli/context/command-options.ts";

// Loaded by its name: its types are those of all runtimes, and tests are checked with those of Node.
const name = "run-command-line" as string;
const { runCommandLine } = (await import(`../../adapters/cli/${name}.ts`)) as {
  readonly runCommandLine: (args: readonly string[]) => Promise<void>;
};
const lines = JSON.parse(process.argv[2] ?? "[]") as string[][];
const print = process.stdout.write.bind(process.stdout);
const said = { out: "", err: "" };
const textOf = (chunk: unknown): string =>
  chunk instanceof Uint8Array ? new TextDecoder().decode(chunk) : String(chunk);
process.stdout.write = (chunk: unknown): boolean => {
  said.out += textOf(chunk);
  return true;
};
process.stderr.write = (chunk: unknown): boolean => {
  said.err += textOf(chunk);
  return true;
};
const results: object[] = [];
for (const args of lines) {
  Object.assign(said, { out: "", err: "" });
  process.exitCode = 0;
  let code: number | string | null | undefined;
  try {
    await runCommandLine(args);
    ({ exitCode: code } = process);
  } catch (error) {
    const report = failureReport(error);
    said.err += report.text;
    ({ code } = report);
  }
  results.push({ ...said, code });
}
process.exitCode = 0;
print(JSON.stringify(results));
