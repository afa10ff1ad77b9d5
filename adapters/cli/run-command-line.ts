import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { projectRoot } from "./demo.ts";
import { helpText } from "./help.ts";
import { setUpProcess } from "./set-up-process.ts";
import { parseCommandLine } from "./settings.ts";

/** Commands with options of their own; what each needs is loaded when it is known. */
const commands: Readonly<Record<string, (args: readonly string[]) => Promise<void>>> = {
  token: async (args) => (await import("./token/token.ts")).tokenCommand(args),
  prices: async (args) => (await import("./prices.ts")).pricesCommand(args),
  console: async (args) => (await import("./console-link.ts")).consoleCommand(args),
  backup: async (args) =>
    (await import("./backup/commands.ts")).backupCommand("backup", args, version()),
  restore: async (args) =>
    (await import("./backup/commands.ts")).backupCommand("restore", args, version()),
  config: async (args) => (await import("./config/config-command.ts")).configCommand(args),
  doctor: async (args) => (await import("./doctor/doctor-command.ts")).doctorCommand(args),
  init: async (args) => (await import("./init/init-command.ts")).initCommand(args),
  logs: async (args) => (await import("./print/logs.ts")).logsCommand(args),
  openapi: async (args) => (await import("./print/openapi.ts")).openApiCommand(args),
  completion: async (args) => (await import("./print/completion.ts")).completionCommand(args),
  gateway: async (args) => (await import("./api/gateway-command.ts")).gatewayCommand(args),
  search: async (args) => (await import("./api/search-command.ts")).searchCommand(args),
  render: async (args) => (await import("./api/render-command.ts")).renderCommand(args),
  agents: async (args) => (await import("./api/agents-command.ts")).agentsCommand(args),
  deprecations: async (args) =>
    (await import("./api/deprecations-command.ts")).deprecationsCommand(args),
  export: async (args) => (await import("./api/export-command.ts")).exportCommand(args),
  import: async (args) => (await import("./api/import-command.ts")).importCommand(args),
  webhook: async (args) => (await import("./webhook-send.ts")).webhookCommand(args),
};

/** Runs a command line. Throws what `failureReport` turns into lines and an exit code. */
export async function runCommandLine(args: readonly string[]): Promise<void> {
  const [first = "", ...rest] = args;
  if (Object.hasOwn(commands, first)) return commands[first]?.(rest);
  const all = ["serve", "help", "version"];
  const { command, flags } = parseCommandLine(args, all, Object.keys(commands));
  if (command === "help" || flags.has("help")) process.stdout.write(helpText(version()));
  else if (command === "version" || flags.has("version")) process.stdout.write(`${version()}\n`);
  else {
    setUpProcess();
    const { serveCommand } = await import("./serve/serve.ts");
    await serveCommand(flags, version());
  }
}

function version(): string {
  const root = projectRoot(dirname(fileURLToPath(import.meta.url)));
  const manifest: unknown = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return typeof manifest === "object" && manifest !== null && "version" in manifest
    ? String(manifest.version)
    : "";
}
