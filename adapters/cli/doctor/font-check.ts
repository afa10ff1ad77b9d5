import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import type { Config } from "../../../core/config/config.ts";
import { findChromium } from "../../shared/chromium/chromium-find.ts";
import type { DoctorFinding } from "./finding.ts";

const run = promisify(execFile);

/** How long the list of fonts may take, in ms: after an installation it is made anew. */
const FONTS_MS = 10_000;

/** Languages and signs that a bare system lacks, and Debian's package for them. */
const scripts = [
  ["Chinese, Japanese and Korean", ":lang=ja", "fonts-noto-cjk"],
  ["emoji", ":charset=1f600", "fonts-noto-color-emoji"],
] as const;

/** Whether pages in any script can be drawn. */
export async function checkFonts({ rendering = {} }: Config): Promise<DoctorFinding> {
  const check = "fonts";
  const found = await findChromium(rendering.chromiumPath);
  const own = found?.kind === "packed" ? "Open Sans of the browser's package, and " : "";
  const listed = await families(":");
  const files = listed?.length ?? (await fontFiles());
  if (files === 0 && own === "")
    return {
      check,
      status: "warn",
      detail: "The system has no fonts",
      hint: "Install fonts, e.g. fonts-dejavu-core: without any, text is boxes",
    };
  const missing: string[][] = [];
  for (const [name, pattern, install] of scripts)
    if (listed === null || (await families(pattern))?.length === 0) missing.push([name, install]);
  if (listed === null && files > 0)
    return { check, status: "ok", detail: `${own}${files} font files` };
  if (missing.length === 0)
    return { check, status: "ok", detail: `${own}${files} families of the system` };
  return {
    check,
    status: "warn",
    detail: `${own}${files} families of the system, none with ${missing.map(([name]) => name).join(" or ")}`,
    hint: `Install ${missing.map(([, install]) => install).join(" and ")} if pages need them`,
  };
}

/** The families of fonts that fontconfig finds; null where there is none to ask. */
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
