// `npm run bench -- NAME [--rounds 5] [--seconds 2] [--connections 1,16,64] [--only TEXT] [--json] [--against FOLDER]`:
// runs one benchmark, or all of them without a name, and prints tables; --json prints one line per figure instead.
// --against measures every server of ours beside the one that FOLDER holds, a built checkout of another version.
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";
import type { Figure } from "./harness/figure.ts";
import { type Options, readOptions } from "./harness/options.ts";
import { tableOf } from "./harness/table.ts";

const here = new URL(".", import.meta.url);
const names = readdirSync(here)
  .filter((file) => file.endsWith(".ts") && file !== "run.ts")
  .map((file) => file.slice(0, -".ts".length));

const { name, options } = readOptions(process.argv.slice(2));
if (name !== undefined && !names.includes(name)) {
  process.stderr.write(`No benchmark "${name}". There are: ${names.join(", ")}\n`);
  process.exit(1);
}

// The servers on Node run what npm ships.
execFileSync(process.execPath, ["scripts/build.ts"], { stdio: ["ignore", "ignore", "inherit"] });
if (!options.json) {
  const memory = `${(totalmem() / 2 ** 30).toFixed(0)} GB`;
  const load = `load ${loadavg()[0]?.toFixed(1)}`;
  const model = cpus()[0]?.model ?? "unknown CPU";
  process.stdout.write(
    `${model}, ${cpus().length} cores, ${memory}, Node ${process.versions.node}, ${load}\n`,
  );
}
for (const each of name === undefined ? names : [name]) {
  const module: { bench: (options: Options) => AsyncIterable<Figure[]> } = await import(
    new URL(`${each}.ts`, here).href
  );
  for await (const figures of module.bench(options)) {
    if (!options.json) process.stdout.write(`${tableOf(figures)}\n`);
    else for (const figure of figures) process.stdout.write(`${JSON.stringify(figure)}\n`);
  }
}
process.exit(0);
