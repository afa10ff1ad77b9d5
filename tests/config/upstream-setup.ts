import { spawn } from "node:child_process";
import { root } from "./shared.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Base URL of the upstream of the transport suite. */
    upstream: string;
  }
}

interface Project {
  provide(key: "upstream", url: string): void;
}

/** Starts the upstream in the pinned Node, for its raw HTTP is what the suite is about. */
export default async function setup(project: Project): Promise<() => void> {
  const node = `${root}node_modules/node/bin/node`;
  const child = spawn(node, [`${root}tests/platform/upstream.mjs`], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once("error", reject);
    child.stdout.once("data", (line: Uint8Array) => {
      resolve(new TextDecoder().decode(line).trim());
    });
  });
  project.provide("upstream", url);
  return () => {
    child.kill();
  };
}
