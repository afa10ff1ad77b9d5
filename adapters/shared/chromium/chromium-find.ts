import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { ApiError } from "../../../core/http/api-error.ts";
import { extractChromium, findPackedChromium, type PackedChromium } from "./chromium-extract.ts";

/** A browser that was found, not yet unpacked. */
export type FoundChromium =
  | { readonly kind: "installed"; readonly path: string }
  | { readonly kind: "packed"; readonly package: PackedChromium };

/** A browser ready to start: its executable and the environment that it needs. */
export interface ReadyChromium {
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Headless shells first: three times the throughput at a third of the memory. */
const names = [
  "chromium-headless-shell",
  "chrome-headless-shell",
  "headless_shell",
  "chromium",
  "chromium-browser",
  "google-chrome",
  "google-chrome-stable",
];

/** Looks for a browser: the given path, else a known name on PATH, else the npm package; null when all fail. */
export async function findChromium(
  executablePath: string | undefined,
): Promise<FoundChromium | null> {
  if (executablePath !== undefined && executablePath !== "") {
    return isExecutable(executablePath) ? { kind: "installed", path: executablePath } : null;
  }
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  for (const name of names) {
    const path = folders
      .map((folder) => join(folder, name))
      .find((candidate) => isExecutable(candidate));
    if (path !== undefined) return { kind: "installed", path };
  }
  const packed = await findPackedChromium();
  return packed === null ? null : { kind: "packed", package: packed };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Makes a found browser ready to start, unpacking it when needed (about 3 s, once per version).
 * @throws ApiError `no_browser` for null
 */
export async function readyChromium(
  found: FoundChromium | null,
  stateDir: string,
  asked: string | undefined,
): Promise<ReadyChromium> {
  if (found === null) throw new ApiError("no_browser", { message: missingBrowserMessage(asked) });
  if (found.kind === "installed") return { path: found.path, env: {} };
  const folder = await extractChromium(found.package, stateDir);
  return {
    path: join(folder, "chromium"),
    // A bare Debian has neither NSS nor fonts: the package brings both.
    env: { LD_LIBRARY_PATH: join(folder, "lib"), FONTCONFIG_FILE: join(folder, "fonts.conf") },
  };
}

/** Says what to do when no browser was found, or not the configured one. */
export function missingBrowserMessage(asked: string | undefined): string {
  return asked === undefined || asked === ""
    ? "No browser available: install chromium, or npm i @sparticuz/chromium, or set rendering.chromiumPath"
    : `No browser available: "${asked.slice(0, 200)}" is not an executable file, correct rendering.chromiumPath`;
}
