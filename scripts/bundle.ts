import { build } from "esbuild";
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";

/** Threads and processes that code starts by an address beside its own, which is a shared chunk's. */
const started = [
  "adapters/shared/background/thread.ts",
  "adapters/shared/background/task-process.ts",
  "adapters/shared/sqlite/reader-thread.ts",
  "adapters/shared/sqlite/writer-thread.ts",
];
const CHUNKS = "chunks";

/** Builds programs, and what of causey they share, into a folder. Packages stay outside. `change` is applied to each file. */
export async function bundle(
  folder: string,
  programs: readonly { readonly in: string; readonly out: string }[],
  change: (code: string) => string = (code) => code,
): Promise<void> {
  const { outputFiles } = await build({
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
    write: false,
  });
  for (const { path, text } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, change(toAscii(text)));
  }
}

/**
 * Escapes what esbuild leaves in patterns and comments. With one other character in it, V8 keeps a whole file with two bytes
 * for each of its characters, for as long as the server runs.
 */
export function toAscii(code: string): string {
  return code.replaceAll(
    /[^\0-\x7f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
