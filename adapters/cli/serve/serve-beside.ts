import process from "node:process";
import type { Log } from "../../../core/ports.ts";
import type { Served } from "../../shared/http/drain.ts";
import { configuredLog } from "./log-sink.ts";
import { standardError } from "../../shared/log/standard-log.ts";
import { openApp } from "./open-app.ts";
import type { ParentProcess } from "../context/parent-process.ts";
import { prepare } from "./prepare.ts";
import { processCount } from "../config/process-count.ts";
import { loadRuntime } from "../context/runtime.ts";
import { collectGarbage } from "./set-up-process.ts";

/** `causey serve` in a process that another one started: listens on the same port, and ends with the other. */
export async function serveBeside(
  parent: ParentProcess,
  flags: ReadonlyMap<string, string>,
): Promise<void> {
  let isReady = false;
  try {
    const prepared = prepare(flags, process.env);
    const written = configuredLog(prepared.config);
    const log: Log = (level, ...what) => {
      // How the start goes is the parent's to say, once for all its children.
      if (isReady || level !== "info") written(level, ...what);
    };
    const { config, host } = prepared;
    const runtime = await loadRuntime();
    const { api, platform } = await openApp(prepared, runtime, processCount(config), log);
    collectGarbage();
    const served = await runtime.serve(api, {
      port: parent.port,
      hostname: host,
      reusePort: true,
      handleSignals: false,
      platform,
      ...(config.graceMs === undefined ? {} : { graceMs: config.graceMs }),
    });
    endWith(parent, served);
    isReady = true;
    parent.ready();
  } catch (error) {
    // The parent says it, once for all its children.
    parent.failed(error);
    process.exit(1);
  }
}

/**
 * Drains when the parent wants it or a signal asks for it, often both: a terminal and a service manager send signals to
 * all processes of a group. Only a second signal ends the process at once.
 */
function endWith(parent: ParentProcess, served: Served): void {
  let ending: Promise<void> | undefined;
  let signals = 0;
  const end = (): Promise<void> =>
    (ending ??= served.close().then(
      () => process.exit(0),
      (error: unknown) => {
        standardError.write(`Shutdown failed: ${String(error)}\n`);
        process.exit(1);
      },
    ));
  for (const [name, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    process.on(name, () => {
      signals += 1;
      if (signals > 1) process.exit(code);
      void end();
    });
  }
  void parent.over.then(end);
}
