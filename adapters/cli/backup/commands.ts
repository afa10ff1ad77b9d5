import process from "node:process";
import { readOptions } from "../context/command-options.ts";
import { dataDirOf } from "../token/token-target.ts";
import { backUp } from "./backup.ts";
import { restore } from "./restore.ts";

const help = `Usage: causey backup FILE [options]
       causey restore FILE [options]

backup: writes the data folder into one file (a gzipped tar); a server may run meanwhile.
restore: puts a backup into an empty folder that no server uses.

The file is as secret as the folder: it holds the token of the first start. Provider keys and webhook secrets in it stay
sealed. If you set CAUSEY_MASTER_KEY, the restored server needs the same key.

  --data-dir DIR     The data folder [CAUSEY_DATA_DIR, else .causey]
  --config FILE      The server's configuration file [CAUSEY_CONFIG]
  --force            backup: replaces FILE; restore: replaces the folder's data, and keeps the former data in it
  --json             JSON, one object
`;

/** Runs `causey backup` or `causey restore`. */
export async function backupCommand(
  command: "backup" | "restore",
  args: readonly string[],
  version: string,
): Promise<void> {
  const text = { type: "string" } as const;
  const { values, positionals } = readOptions(args, {
    "data-dir": text,
    config: text,
    force: { type: "boolean" },
    json: { type: "boolean" },
    help: { type: "boolean", short: "h" },
  });
  if (values.help === true) return void process.stdout.write(help);
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0)
    throw new TypeError(
      `causey ${command} needs the one name of a file, e.g. causey ${command} causey.tar.gz`,
    );
  const { force = false, json = false } = values;
  const dataDir = dataDirOf(values, (name) => process.env[name]);
  if (command === "backup") {
    const made = await backUp(dataDir, file, { force, version });
    const size = `${(made.bytes / 1e6).toFixed(1)} MB`;
    print(made, json, `Backed up "${dataDir}" to ${made.file} (${size})`);
    return;
  }
  const done = await restore(file, dataDir, { force, version });
  const aside = done.replaced === null ? "" : `; what it held is in ${done.replaced}`;
  print(done, json, `Restored the backup of ${done.createdAt} to "${dataDir}"${aside}`);
}

function print(report: object, json: boolean, line: string): void {
  process.stdout.write(`${json ? JSON.stringify(report) : line}\n`);
}
