import { settings } from "./settings.ts";

/** The text of `causey --help`: every command, option, default and environment variable. */
export function helpText(version: string): string {
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
  const lines = rows.map(({ left, env, right }) => `  ${left.padEnd(22)}${env.padEnd(22)}${right}`);
  return [
    `causey ${version}: one platform API on any JavaScript runtime`,
    "",
    "Usage: causey [serve] [options]",
    "       causey init …          writes a project that serves the platform on a runtime",
    "       causey token …         makes, lists and revokes API tokens; causey token --help says more",
    "       causey console         prints an address that logs in to the web console once",
    "       causey backup FILE     writes the data folder into one file; causey restore FILE puts it back",
    "       causey config …        checks the configuration, or shows all of it and where it comes from",
    "       causey doctor          looks at all that a server needs, and says what to do",
    "       causey logs [-f]       prints the requests that a running server answers",
    "       causey gateway …       lists, makes, changes and deletes gateways, and prints their requests",
    "       causey search …        the same for search instances; uploads files, and tries a query",
    "       causey render URL      renders a page as PDF, picture, Markdown and more",
    "       causey agents …        looks at the agents that webhooks feed, and replays what failed",
    "       causey deprecations …  prints what is deprecated, and who still uses it",
    "       causey export [FILE]   writes the settings of an account as JSON; causey import FILE takes them over",
    "       causey openapi         prints the description of the API",
    "       causey completion …    has bash, zsh or fish complete commands and options",
    "       causey prices …        prints the prices of models that are used, with their source",
    "       causey webhook send …  sends a signed webhook; causey webhook --help says more",
    "",
    `  ${"Option".padEnd(22)}${"Environment".padEnd(22)}Meaning [default]`,
    ...lines,
    "",
    "A flag wins over the environment, the environment over the file, the file over the default.",
    'In the file, a string "env:NAME" is read from the environment variable NAME.',
    "",
  ].join("\n");
}
