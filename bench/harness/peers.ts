import { existsSync } from "node:fs";
import { createRequire } from "node:module";

const folder = new URL("../peers/node_modules/", import.meta.url);
const missing = new Set<string>();

/** The folder of an installed peer; undefined, with one line that says how to install it, when it is not. */
export function peerFolder(name: string): URL | undefined {
  const at = new URL(`${name}/`, folder);
  if (existsSync(at)) return at;
  if (!missing.has(name)) {
    process.stderr.write(
      `Left out: ${name}. To install the peers: npm install --prefix bench/peers\n`,
    );
  }
  missing.add(name);
  return undefined;
}

/** The exports of an installed peer; else as {@link peerFolder}. */
export function loadPeer(name: string): unknown {
  if (peerFolder(name) === undefined) return undefined;
  return createRequire(folder)(name);
}
