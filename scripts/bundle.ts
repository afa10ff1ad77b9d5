import { build } from "esbuild";
import { basename } from "node:path";

/** Threads and processes that code starts by an address beside its own, which is a shared chunk's. */
const started = [
  "adapters/shared/background/thread.ts",
  "adapters/shared/background/task-process.ts",
  "adapters/shared/sqlite/reader-thread.ts",
  "adapters/shared/sqlite/writer-thread.ts",
];
const CHUNKS = "chunks";

/** Builds programs, and what of causey they share, into a folder. Packages stay outside. */
export async function bundle(
  folder: string,
  programs: readonly { readonly in: string; readonly out: string }[],
): Promise<void> {
  await build({
    entryPoints: [
      ...programs,
      ...started.map((path) => ({ in: path, out: `${CHUNKS}/${basename(path, ".ts")}` })),
    ],
    outdir: folder,
    chunkNames: `${CHUNKS}/[name]-[hash]`,
    bundle: true,
    splitting: true,
    packages: "external",
    format: "esm",
    platform: "node",
    target: "es2024",
    external: ["bun", "cloudflare:*"],
  });
}
