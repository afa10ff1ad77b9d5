import process from "node:process";
import type { Config } from "../../../core/config/config.ts";
import { checkedConfig, readServeOptions } from "../config/serve-options.ts";
import { loadRuntime } from "../context/runtime.ts";
import { defaults } from "../context/settings.ts";
import { checkBrowser } from "./browser-checks.ts";
import { checkFonts } from "./font-check.ts";
import { type DoctorFinding, failureReason } from "./finding.ts";
import { checkFolder, checkListenPort, checkSqlite } from "./machine-checks.ts";
import { checkProviderAccess } from "./provider-checks.ts";
import { counted } from "../../shared/work/counted.ts";

const help = `Usage: causey doctor [options]

Checks everything that a server needs: configuration, port, data folder, disk, SQLite, browser and sandbox, fonts,
providers, clock. It ends with 1 if something fails. It sends no key, and changes nothing: it only unpacks a browser from npm.

All options of causey serve, and:

  --json             JSON, one object
`;

/** Runs `causey doctor`. */
export async function doctorCommand(args: readonly string[]): Promise<void> {
  const { flags, json, help: asked, positionals } = readServeOptions(args);
  if (asked) return void process.stdout.write(help);
  if (positionals.length > 0)
    throw new TypeError(`causey doctor takes options only, got "${positionals[0]}"`);
  const findings: DoctorFinding[] = [];
  for await (const some of examine(flags)) {
    findings.push(...some);
    if (!json) process.stdout.write(some.map(line).join(""));
  }
  const failed = findings.filter(({ status }) => status === "fail").length;
  const warned = findings.filter(({ status }) => status === "warn").length;
  process.stdout.write(
    json
      ? `${JSON.stringify({ healthy: failed === 0, findings })}\n`
      : `\n${counted(findings.length, "check")}, ${counted(warned, "warning")}, ${failed} failed\n`,
  );
  process.exitCode = failed === 0 ? 0 : 1;
}

async function* examine(flags: ReadonlyMap<string, string>): AsyncGenerator<DoctorFinding[]> {
  yield [{ check: "runtime", status: "ok", detail: (await loadRuntime()).name }];
  const { config, finding } = configured(flags);
  yield [finding];
  const { dataDir = defaults.dataDir, port = defaults.port, host = defaults.host } = config;
  yield [await checkListenPort(port, host)];
  yield checkFolder(dataDir);
  yield [checkSqlite(dataDir)];
  yield await checkBrowser(config, dataDir);
  yield [await checkFonts(config)];
  yield await checkProviderAccess(config);
}

/** Reads the configuration. Faults are reported, and the other checks then run with the defaults. */
function configured(flags: ReadonlyMap<string, string>): {
  readonly config: Config;
  readonly finding: DoctorFinding;
} {
  const check = "configuration";
  try {
    const { config, written } = checkedConfig(flags, process.env);
    const detail = written.path === undefined ? "No file" : `"${written.path}" is right`;
    return { config, finding: { check, status: "ok", detail } };
  } catch (error) {
    const hint = "The keys are in docs/configuration.md";
    return { config: {}, finding: { check, status: "fail", detail: failureReason(error), hint } };
  }
}

function line({ check, status, detail, hint }: DoctorFinding): string {
  const first = `${status.padEnd(4)}  ${check.padEnd(14)}  ${detail}\n`;
  return hint === undefined ? first : `${first}${" ".repeat(22)}hint: ${hint}\n`;
}
