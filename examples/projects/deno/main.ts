import { apiOptions, parseConfig, platformApi } from "causey";
import { webConsole } from "causey/console";
import { denoPlatform, serve } from "causey/deno";
import { apiDescription } from "causey/openapi";

const env = Deno.env.toObject();
// The settings of docs/configuration.md can be in this file, but for `processes` and `log`; "env:NAME" stands for a variable.
const config = parseConfig(Deno.readTextFileSync("causey.json"), (name) => env[name]);
const platform = await denoPlatform({ config });
const pages = { console: webConsole, openApi: apiDescription };
const app = platformApi(apiOptions(config, platform, pages));

const port = Number(env["PORT"] ?? config.port ?? 8787);
const { url } = await serve(app, { port, hostname: config.host ?? "127.0.0.1", platform });
const headers = { authorization: `Bearer ${env["CAUSEY_TOKEN"] ?? ""}` };
const links = new Request(`${url}/console/links`, { method: "POST", headers });
const link = await app.quietFetch(links);
const { path } = JSON.parse(await link.text()) as { path: string };
console.log(`Listening  ${url}\nConsole    ${url}${path}  (logs in once)`);
