import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { counted } from "../work/counted.ts";
import type { FoundChromium } from "./chromium-find.ts";

const run = promisify(execFile);

/** The time in which the list of fonts must be read, in ms: after an installation fontconfig rebuilds its cache. */
const FONTS_MS = 10_000;

/** Languages and signs that a bare system lacks, and Debian's package for them. */
const scripts = [
  ["Chinese, Japanese and Korean", ":lang=ja", "fonts-noto-cjk"],
  ["emoji", ":charset=1f600", "fonts-noto-color-emoji"],
] as const;

/** The fonts that pages are drawn with. */
export interface FontsFound {
  /** The number of fonts found, and the scripts that none of them covers. */
  readonly detail: string;
  /** The packages to install; null where nothing is missing. */
  readonly hint: string | null;
}

/** Looks for fonts in any script. */
export async function findFonts(found: FoundChromium | null): Promise<FontsFound> {
  const own = found?.kind === "packed" ? "Open Sans of the browser's package, and " : "";
  const listed = await families(":");
  const files = listed?.length ?? (await fontFiles());
  if (files === 0 && own === "")
    return {
      detail: "The system has no fonts",
      hint: "Install fonts, e.g. fonts-dejavu-core: without any, text is boxes",
    };
  const missing: string[][] = [];
  for (const [name, pattern, install] of scripts)
    if (listed === null || (await families(pattern))?.length === 0) missing.push([name, install]);
  if (listed === null && files > 0)
    return { detail: `${own}${counted(files, "font file")}`, hint: null };
  const system = `${own}${counted(files, "family", "families")} of the system`;
  if (missing.length === 0) return { detail: system, hint: null };
  return {
    detail: `${system}, none with ${missing.map(([name]) => name).join(" or ")}`,
    hint: `Install ${missing.map(([, install]) => install).join(" and ")} if pages need them`,
  };
}

/** Lists the families of fonts that fontconfig finds; null where fontconfig is missing. */
async function families(pattern: string): Promise<string[] | null> {
  try {
    const { stdout } = await run("fc-list", [pattern, "family"], { timeout: FONTS_MS });
    return stdout.trim().split("\n").filter(Boolean);
  } catch {
    return null;
  }
}

async function fontFiles(): Promise<number> {
  const folders = [
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "/System/Library/Fonts",
    "C:\\Windows\\Fonts",
    join(process.env["HOME"] ?? "", ".fonts"),
  ];
  let count = 0;
  for (const folder of folders) {
    const names = await readdir(folder, { recursive: true }).catch(() => []);
    count += names.filter((name) => /\.(?:ttf|otf|ttc)$/iu.test(name)).length;
  }
  return count;
}
