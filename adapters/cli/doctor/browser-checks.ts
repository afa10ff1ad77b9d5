import process from "node:process";
import type { Config } from "../../../core/config/config.ts";
import { chromium } from "../../shared/chromium/chromium.ts";
import { localSystem } from "../../shared/system.ts";
import { type DoctorFinding, failureReason, timeLimited } from "./finding.ts";

/** How long a browser has to be unpacked, to start and to answer, in ms. */
const START_MS = 60_000;
const quiet = (): void => undefined;

/** Whether there is a browser, starts and answers, and whether its own sandbox holds. */
export async function checkBrowser(
  { rendering = {} }: Config,
  dataDir: string,
): Promise<DoctorFinding[]> {
  const { chromiumPath, endpoint, noSandbox } = rendering;
  const system = localSystem(quiet);
  const browser = chromium({
    executablePath: chromiumPath,
    endpoint,
    noSandbox,
    stateDir: dataDir,
    log: quiet,
    system,
  });
  try {
    const available = await browser.available();
    if (available !== true)
      return [
        {
          check: "browser",
          status: "warn",
          detail: available,
          hint: "Without a browser, page rendering answers 503",
        },
      ];
    const version = await timeLimited(START_MS, (signal) => versionOf(browser, signal));
    const started: DoctorFinding = {
      check: "browser",
      status: "ok",
      detail: `${version} starts (${await browser.describe()})`,
    };
    return endpoint === undefined || endpoint === "" ? [started, sandbox(noSandbox)] : [started];
  } catch (error) {
    const hint =
      "Install chromium, or the package @sparticuz/chromium, or name one with --chromium-path";
    return [{ check: "browser", status: "fail", detail: failureReason(error), hint }];
  } finally {
    await browser.close();
    system.end();
  }
}

function sandbox(noSandbox: boolean | undefined): DoctorFinding {
  const check = "sandbox";
  if (noSandbox ?? process.getuid?.() === 0)
    return {
      check,
      status: "warn",
      detail: "The browser runs without its sandbox",
      hint: "Run the server as an ordinary user, or render untrusted pages in a container of its own",
    };
  return { check, status: "ok", detail: "The browser runs in its sandbox" };
}

async function versionOf(
  browser: ReturnType<typeof chromium>,
  signal: AbortSignal,
): Promise<string> {
  const wire = await browser.connect({ signal });
  try {
    return await new Promise<string>((resolve, reject) => {
      signal.addEventListener("abort", () => reject(new Error("The browser does not answer")));
      wire.onClose((reason) => reject(new Error(reason)));
      wire.onMessage((message) => {
        const product = /"product":"([^"]+)"/u.exec(message)?.[1];
        if (product !== undefined) resolve(product);
      });
      wire.send(JSON.stringify({ id: 1, method: "Browser.getVersion" }));
    });
  } finally {
    wire.close();
  }
}
