// A help desk: visitors ask at /, and the pages of handbook/ answer. The team works at /console.
import { readFileSync } from "node:fs";
import { apiOptions, parseConfig, platformApi } from "causey";
import { webConsole } from "causey/console";
import { nodePlatform, serve } from "causey/node";
import { apiDescription } from "causey/openapi";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { helpDesk } from "./help-desk.ts";
import { page } from "./page.ts";

const { env } = process;
const token = env["CAUSEY_TOKEN"] ?? "";
// The settings of docs/configuration.md can be in this file, but for `processes` and `log`; "env:NAME" stands for a variable.
const config = parseConfig(readFileSync("causey.json", "utf8"), (name) => env[name]);
const platform = await nodePlatform({ config });
const pages = { console: webConsole, openApi: apiDescription };
const api = platformApi(apiOptions(config, platform, pages));
const desk = await helpDesk(api, token);

const app = new Hono();
app.get("/", (c) => c.html(page()));
app.post("/", bodyLimit({ maxSize: 16 * 1024 }), async (c) => {
  const { question } = await c.req.parseBody();
  if (typeof question !== "string" || question.trim() === "") return c.html(page(), 400);
  return c.html(page({ question, ...(await desk.ask(question)) }));
});
// All other paths are the platform's: its API, the gateway, webhooks, agents and the console.
app.mount("/", api.fetch, { replaceRequest: false });

const port = Number(env["PORT"] ?? config.port ?? 8787);
const { url } = await serve(app, { port, hostname: config.host ?? "127.0.0.1", platform });
const headers = { authorization: `Bearer ${token}` };
const links = new Request(`${url}/console/links`, { method: "POST", headers });
const link = await api.quietFetch(links);
const { path } = JSON.parse(await link.text()) as { path: string };
console.log(`Listening  ${url}\nConsole    ${url}${path}  (logs in once)`);
