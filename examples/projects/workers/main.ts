import { webConsole } from "causey/console";
import { apiDescription } from "causey/openapi";
import { type ConfiguredEnv, fromEnv, worker } from "causey/workers";
// The settings of docs/configuration.md can be in this file, but for `processes` and `log`; "env:NAME" stands for a variable or a secret.
import config from "./causey.json" with { type: "json" };
export { CauseyObject } from "causey/workers";

// The secret CAUSEY_TOKEN is an API token with every permission.
export default worker<ConfiguredEnv>((env) =>
  fromEnv(
    { ...env, CAUSEY_CONFIG: JSON.stringify(config) },
    { console: webConsole, openApi: apiDescription },
  ),
);
