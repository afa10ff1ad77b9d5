import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { root } from "./shared.ts";

/** Where the browser of this run's Worker listens. */
export const browserSocket: string = join(tmpdir(), `causey-browser-${process.pid}.sock`);

/** Starts the service behind the Worker's browser binding; the browser itself starts when a test asks for it. */
export default async function setup(): Promise<() => Promise<void>> {
  const node = `${root}node_modules/node/bin/node`;
  const child = spawn(node, [`${root}tests/platform/browser-service.ts`, browserSocket], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  await Promise.race([once(child.stdout, "data"), exited]);
  return async () => {
    child.stdin.end();
    await exited;
  };
}
