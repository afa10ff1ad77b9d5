import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresStarter } from "./postgres-starter.ts";
import type { Provided } from "./provided.d.ts";
import { root } from "./shared.ts";

interface Project {
  provide<Key extends keyof Provided>(key: Key, value: Provided[Key]): void;
}

/**
 * Makes the run's scratch folder and starts the upstream, in the pinned Node, for its raw HTTP is what the
 * transport suite is about.
 */
export default async function setup(project: Project): Promise<() => Promise<void>> {
  const scratch = mkdtempSync(join(tmpdir(), "causey-test-"));
  const child = spawn(`${root}node_modules/node/bin/node`, [`${root}tests/platform/upstream.mjs`], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once("error", reject);
    child.stdout.once("data", (line: Uint8Array) => {
      resolve(new TextDecoder().decode(line).trim());
    });
  });
  project.provide("upstream", url);
  project.provide("scratch", scratch);
  const postgres = await postgresStarter();
  project.provide("postgres", postgres.address);
  // What Node has made of a TypeScript file is half of each start of a process. The other two keep it by themselves.
  process.env["NODE_COMPILE_CACHE"] = join(scratch, "compile-cache");
  return async () => {
    child.kill();
    await postgres.stop();
    // A process that a test has ended may still be writing its last file.
    rmSync(scratch, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
}
