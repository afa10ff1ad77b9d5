import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { projectRoot } from "./serve/demo.ts";
import { setUpProcess } from "./serve/set-up-process.ts";
import { parseCommandLine, settings } from "./context/settings.ts";

/** Commands with options of their own; what each needs is loaded when it is known. */
const commands: Readonly<Record<string, (args: readonly string[]) => Promise<void>>> = {
  token: async (args) => (await import("./token/token.ts")).tokenCommand(args),
  prices: async (args) => (await import("./api/prices.ts")).pricesCommand(args),
  console: async (args) => (await import("./context/console-link.ts")).consoleCommand(args),
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
  cluster: async (args) => (await import("./cluster/cluster-command.ts")).clusterCommand(args),
  deprecations: async (args) =>
    (await import("./api/deprecations-command.ts")).deprecationsCommand(args),
  export: async (args) => (await import("./api/export-command.ts")).exportCommand(args),
  import: async (args) =>
    isMove(args)
      ? (await import("./move/move-command.ts")).moveCommand(args)
      : (await import("./api/import-command.ts")).importCommand(args),
  webhook: async (args) => (await import("./webhook-send.ts")).webhookCommand(args),
};

/** Whether a command line of `causey import` moves the state, and not the settings in a file. */
function isMove(args: readonly string[]): boolean {
  return args.some((arg) => /^--(?:from|to)(?:=|$)/u.test(arg));
}

/** Runs a command line. Throws what `failureReport` turns into lines and an exit code. */
export async function runCommandLine(args: readonly string[]): Promise<void> {
  const [first = "", ...rest] = args;
  const [about = ""] = rest;
  if (first === "help" && Object.hasOwn(commands, about))
    return commands[about]?.([...rest.slice(1), "--help"]);
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

/** Returns the text of `causey --help`: every command, option, default and environment variable. */
export function helpText(release: string): string {
  const rows = [
    ...settings.map((one) => ({
      left: one.value === undefined ? `--${one.flag}` : `--${one.flag} ${one.value}`,
      env: one.env ?? "",
      right: one.default === undefined ? one.help : `${one.help} [${one.default}]`,
    })),
    {
      left: "--config FILE",
      env: "CAUSEY_CONFIG",
      right: "JSON configuration file; its keys are in docs/configuration.md",
    },
    {
      left: "",
      env: "CAUSEY_TOKEN",
      right: "API token with every permission [made at the first start]",
    },
    { left: "-h, --help", env: "", right: "Show this text" },
    { left: "-v, --version", env: "", right: "Show the version" },
  ];
  const lines = rows.map(({ left, env, right }) => `  ${left.padEnd(28)}${env.padEnd(26)}${right}`);
  return [
    `causey ${release}: one platform API on any JavaScript runtime`,
    "",
    "Usage: causey [serve] [options]",
    "       causey init …          writes a project that serves the platform on a runtime",
    "       causey token …         makes, lists and revokes API tokens; causey token --help says more",
    "       causey console         prints an address that logs in to the web console once",
    "       causey backup FILE     writes the data folder into one file; causey restore FILE puts it back",
    "       causey config …        checks the configuration, or shows every setting and its source",
    "       causey doctor          checks everything that a server needs, and says what to do",
    "       causey logs [-f]       prints the requests that a running server answers",
    "       causey gateway …       lists, makes, changes and deletes gateways, and prints their requests",
    "       causey search …        lists, makes, changes and deletes search instances; uploads files, and tries a query",
    "       causey render URL      renders a page as PDF, picture, Markdown and more",
    "       causey agents …        looks at the agents that webhooks feed, and replays what failed",
    "       causey cluster status  lists the servers of a PostgreSQL database",
    "       causey deprecations …  prints what is deprecated, and who still uses it",
    "       causey export [FILE]   writes the settings of an account as JSON; causey import FILE reads them into another server",
    "       causey import --from … moves a data folder into a PostgreSQL database; --to … moves it back",
    "       causey openapi         prints the description of the API",
    "       causey completion …    prints a script that completes commands and options in bash, zsh or fish",
    "       causey prices …        prints the prices of models that causey uses, with their sources",
    "       causey webhook send …  sends a signed webhook; causey webhook --help says more",
    "",
    `  ${"Option".padEnd(28)}${"Environment".padEnd(26)}Meaning [default]`,
    ...lines,
    "",
    "A flag wins over the environment, the environment over the file, the file over the default.",
    'In the file, a string "env:NAME" is read from the environment variable NAME.',
    "",
  ].join("\n");
}
