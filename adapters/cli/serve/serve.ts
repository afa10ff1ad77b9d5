import process from "node:process";
import type { Platform } from "../../../core/ports.ts";
import { instanceAt } from "../../../core/search/actor/instance-client.ts";
import { standardOutput } from "../../shared/log/standard-log.ts";
import { closeAtEnd, type ServeOptions, type Served } from "../../shared/http/drain.ts";
import { bannerLines, exposureWarning, reachableUrl } from "./banner.ts";
import { checkFonts } from "../doctor/font-check.ts";
import { seedDemo } from "./demo.ts";
import { configuredLog } from "./log-sink.ts";
import { linkAtStart } from "./link-at-start.ts";
import { firstStart, isForFirstStart, tellSeeded } from "./first-start.ts";
import { openApp, type OpenApp } from "./open-app.ts";
import { parentProcess } from "../context/parent-process.ts";
import { prepare, type Prepared } from "./prepare.ts";
import { processCount } from "../config/process-count.ts";
import { loadRuntime, type Runtime } from "../context/runtime.ts";
import { serveBeside } from "./serve-beside.ts";
import { checkPort, ownCommandLine, startChildren } from "./start-children.ts";
import { collectGarbage } from "./set-up-process.ts";

/** How long a shutdown waits for requests under way when nothing else is said, in ms. */
const GRACE_MS = 10_000;
/** The time a child has to end beside its two graces (for requests, and for work they left behind), in ms. */
const END_MS = 5000;

/** `causey serve`: opens the platform, seeds the demo, listens, starts the other processes, and prints the start lines. */
export async function serveCommand(
  flags: ReadonlyMap<string, string>,
  version: string,
): Promise<void> {
  const parent = parentProcess();
  if (parent !== null) return serveBeside(parent, flags);
  if (isForFirstStart()) return startFirst(flags);
  const prepared = prepare(flags, process.env);
  const processes = processCount(prepared.config);
  // Before anything is opened: it says whether this can work at all.
  const command = processes > 1 ? ownCommandLine() : [];
  const runtime = await loadRuntime();
  const first = await firstStart(prepared);
  const isCutOff = !(await first.seeded);
  const app = await openApp(prepared, runtime, processes, configuredLog(prepared.config));
  const { platform } = app;
  try {
    await platform.actors.ready?.();
    // Before the port opens, so that no request waits for the garbage collection after the demo.
    await seed(prepared, app, isCutOff);
    collectGarbage();
    const { url } = await listen(prepared, runtime, app, { command, count: processes });
    const browser = (await platform.browser.describe?.()) ?? String(platform.capabilities.browser);
    const name = processes === 1 ? runtime.name : `${runtime.name}, ${processes} processes`;
    const fetch = (one: Request): Response | Promise<Response> => app.api.quietFetch(one);
    const link = await linkAtStart(
      { fetch, url: reachableUrl(url), token: prepared.token.value },
      platform.log,
    );
    const facts = { version, runtime: name, url, browser, consoleLink: link };
    const lines = bannerLines(prepared, facts);
    standardOutput.write(`${lines.join("\n")}\n`);
    const warning = exposureWarning(prepared.host);
    if (warning !== null) platform.log("warn", warning, { host: prepared.host });
    // Unpacking the npm browser takes seconds, once: not at the expense of the first page. It is not awaited, so that a
    // server stopped at once ends at once.
    void first.over.then(() => prepareBrowser(platform));
    void tellOfFonts(platform, prepared).catch(() => undefined);
  } catch (error) {
    await platform.close();
    throw error;
  }
}

/** Does what only the first start does, for the process that serves, and ends. */
async function startFirst(flags: ReadonlyMap<string, string>): Promise<void> {
  const prepared = prepare(flags, process.env);
  const app = await openApp(prepared, await loadRuntime(), 1, () => undefined);
  const { platform } = app;
  await seed(prepared, app);
  // Which else the process that serves would do, as soon as it listens.
  const demo = { account: prepared.accountId, namespace: "default", id: "demo" };
  if (prepared.demoSecret !== null) await instanceAt(platform, demo).train();
  await platform.close();
  tellSeeded();
  await prepareBrowser(platform);
  process.exit(0);
}

/** Sets up the demo in process, so that the lines printed afterwards work at once. */
async function seed(
  { token, accountId, demoSecret }: Prepared,
  { api, platform }: OpenApp,
  isCutOff = false,
): Promise<void> {
  if (demoSecret === null) return;
  const fetch = (request: Request): Response | Promise<Response> => api.quietFetch(request);
  try {
    const target = {
      fetch,
      url: "http://127.0.0.1",
      token: token.value,
      accountId,
    };
    await seedDemo(target, isCutOff);
  } catch (error) {
    platform.log("warn", "The demo could not be set up", { error: String(error) });
  }
}

/** Opens the port; resolves when all processes listen on it. */
async function listen(
  { config, host, port }: Prepared,
  runtime: Runtime,
  { api, platform }: OpenApp,
  { command, count }: { readonly command: readonly string[]; readonly count: number },
): Promise<Served> {
  const { graceMs = GRACE_MS } = config;
  const options: ServeOptions = { port, hostname: host, platform, graceMs };
  if (count === 1) return runtime.serve(api, options);
  await checkPort(port, host);
  const served = await runtime.serve(api, { ...options, reusePort: true });
  const children = startChildren({
    command,
    count: count - 1,
    port: served.port,
    patienceMs: 2 * graceMs + END_MS,
    log: platform.log,
  });
  // Before the platform, which may hold the data directory that they call.
  closeAtEnd(children, () => {
    children.end();
  });
  try {
    await children.listening;
  } catch (error) {
    await children.close();
    throw error;
  }
  return served;
}

/** Says which scripts pages have no font for: their characters would be boxes. */
async function tellOfFonts({ capabilities, log }: Platform, { config }: Prepared): Promise<void> {
  if (capabilities.browser !== true || config.rendering?.endpoint !== undefined) return;
  const { status, detail, hint } = await checkFonts(config);
  if (status === "warn") log("info", "Fonts of the browser", { found: detail, hint });
}

async function prepareBrowser({ browser, log }: Platform): Promise<void> {
  try {
    await browser.prepare?.();
  } catch (error) {
    log("warn", "The browser is not ready", { error: String(error) });
  }
}
