import process from "node:process";

const VARIABLE = "BUN_CONFIG_MAX_HTTP_REQUESTS";

/**
 * Lets Bun's `fetch` have more than 256 requests under way: the 257th open stream would wait for one of the others to
 * end. Bun reads the variable once, when it starts, so the process becomes itself again with it set; id, arguments and
 * standard streams stay. Whoever sets the variable gets that.
 */
export function liftBunRequestLimit(): void {
  const { env, execArgv, execPath, argv } = process;
  if (process.versions["bun"] === undefined || process.execve === undefined) return;
  if (process.platform === "win32" || env[VARIABLE] !== undefined) return;
  process.execve(execPath, [execPath, ...execArgv, ...argv.slice(1)], {
    ...env,
    [VARIABLE]: "65336",
  });
}
