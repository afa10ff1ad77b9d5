// `npm run serve:workers`: the product as a Worker in a real workerd, with the options of the command line.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { bannerLines } from "../adapters/cli/serve/banner.ts";
import { failureReport } from "../adapters/cli/context/command-options.ts";
import { consoleLink } from "../adapters/cli/context/console-link.ts";
import { seedDemo } from "../adapters/cli/serve/demo.ts";
import { helpText } from "../adapters/cli/run-command-line.ts";
import { prepare } from "../adapters/cli/serve/prepare.ts";
import { parseCommandLine } from "../adapters/cli/context/settings.ts";
import { chromium } from "../adapters/shared/chromium/chromium.ts";
import { lockExclusively, openDataDir } from "../adapters/shared/data-dir.ts";
import { jsonLog } from "../adapters/shared/log/standard-log.ts";
import { localSystem } from "../adapters/shared/system.ts";
import { ApiError } from "../core/http/api-error.ts";
import { startWorkerd } from "./workerd.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
const entry = process.env["CAUSEY_WORKERS_ENTRY"] ?? `${root}adapters/workers/main.ts`;

async function serve(prepared) {
  const { config, host, dataDir, token } = prepared;
  // Held until this process ends: two workerds would write the same databases.
  await lockExclusively(openDataDir(dataDir), jsonLog);
  const browser = chromium({
    executablePath: config.rendering?.chromiumPath,
    endpoint: config.rendering?.endpoint,
    allowHosts: config.rendering?.allowHosts,
    noSandbox: config.rendering?.noSandbox,
    stateDir: dataDir,
    log: jsonLog,
    system: localSystem(jsonLog),
  });
  const state = { isReady: false };
  const workerd = await startWorkerd({
    entry,
    // The demo is made by requests.
    isUnsaid: (line) => !state.isReady && line.includes('"message":"Request"'),
    host,
    port: prepared.port,
    storageDir: join(dataDir, "workers"),
    vars: {
      ...collectorVariables(),
      CAUSEY_CONFIG: JSON.stringify(config),
      CAUSEY_TOKEN: token.value,
      ...variablesBeside(entry),
    },
    browser: (await browser.available()) === true ? browser : null,
  });
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${workerd.port}`;
  const ready = () => {
    state.isReady = true;
  };
  return { url, workerd, ready, browser: await browser.describe() };
}

async function main() {
  const { flags } = parseCommandLine(process.argv.slice(2), ["serve"]);
  if (flags.has("help")) return console.log(helpText(version));
  if (flags.has("version")) return console.log(version);
  const prepared = prepare(flags, process.env);
  // "auto" is one where processes cannot share a port.
  const { processes = 1 } = prepared.config;
  if (processes !== 1 && processes !== "auto") {
    throw new ApiError("invalid_request", {
      message: "--processes is for Node, Deno and Bun: a workerd is one process",
    });
  }
  const server = await serve(prepared);
  let stopping = false;
  const stop = async () => {
    if (stopping) return;
    stopping = true;
    await server.workerd.stop(prepared.config.graceMs ?? 10_000);
    process.exit(0);
  };
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => void stop());
  server.workerd.child.once("exit", (code, signal) => {
    if (stopping) return;
    console.error(`workerd ended (${signal ?? code})`);
    process.exitCode = 1;
  });
  const { accountId, token } = prepared;
  if (prepared.demoSecret !== null && process.env["CAUSEY_WORKERS_ENTRY"] === undefined) {
    const target = { fetch, url: server.url, token: token.value, accountId, hasKeywords: true };
    await seedDemo(target, false);
  }
  const link =
    process.env["CAUSEY_WORKERS_ENTRY"] === undefined
      ? await consoleLink({ fetch, url: server.url, token: token.value })
      : null;
  const { url, browser } = server;
  const facts = { version, runtime: "workerd", url, browser, consoleLink: link };
  server.ready();
  console.log(bannerLines(prepared, facts).join("\n"));
}

main().catch((error) => {
  const text = error instanceof Error ? error.message : String(error);
  const taken = /Address already in use/u.test(text);
  const known = failureReport(
    taken
      ? new Error("The port is taken: stop the other server or choose another with --port")
      : error,
  );
  process.stderr.write(known.text);
  if (!(error instanceof ApiError) && !taken && process.env["CAUSEY_DEBUG"] !== undefined)
    console.error(error);
  process.exit(known.code);
});

/** Returns the variables of OpenTelemetry, which a Worker reads from its bindings. */
function collectorVariables() {
  const named = Object.entries(process.env).filter(([name]) => name.startsWith("OTEL_"));
  return Object.fromEntries(named.filter(([, value]) => value !== undefined));
}

/** Returns the variables in the `.dev.vars` beside a Worker, as `wrangler dev` gives them to it. */
function variablesBeside(path) {
  const file = join(dirname(path), ".dev.vars");
  return existsSync(file) ? parseEnv(readFileSync(file, "utf8")) : {};
}
