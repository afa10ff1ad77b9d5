import { globSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { root } from "../config/shared.ts";

/** One source file of the product. */
export interface Source {
  /** From the repository's root, with forward slashes. */
  readonly path: string;
  /** The text without comment lines, so that an example in a comment is not taken for code. */
  readonly code: string;
  readonly lines: number;
  /** What it imports: relative ones as paths from the root, others as written. */
  readonly imports: readonly string[];
}

/** The folders of core/ that every capability may import. */
export const foundations = new Set([
  "actors",
  "ports",
  "http",
  "auth",
  "crypto",
  "net",
  "entity",
  "files",
  "mcp",
  "metrics",
  "sql",
  "text",
  "time",
  "trace",
  "work",
]);

/** Reads all TypeScript files of the given folders. */
export function readSources(...folders: string[]): Source[] {
  const paths = folders.flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: root }));
  return paths
    .map((path) => path.replaceAll("\\", "/"))
    .toSorted()
    .map(readSource);
}

/** Every page of docs/, as a path from the repository's root, with forward slashes. */
export function pagesOfDocs(): string[] {
  const pages = globSync("docs/**/*.md", { cwd: root });
  return pages.map((path) => path.replaceAll("\\", "/")).toSorted();
}

function readSource(path: string): Source {
  const text = readFileSync(`${root}${path}`, "utf8");
  const code = text.replaceAll(/^\s*(?:\*|\/\*|\/\/).*$/gmu, "");
  const found = [
    ...code.matchAll(/^(?:import|export)\b[^"';]*?\bfrom\s*["']([^"']+)["']/gmu),
    ...code.matchAll(/^import\s*["']([^"']+)["']/gmu),
    ...code.matchAll(/\bimport\(\s*["']([^"']+)["']/gu),
  ];
  const imports = found.map(([, specifier = ""]) =>
    specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : specifier,
  );
  return { path, code, lines: text.split("\n").length, imports };
}
