import { mkdir, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { extractChromium } from "../../adapters/shared/chromium/chromium-extract.ts";
import { findChromium } from "../../adapters/shared/chromium/chromium-find.ts";

/** Where the tests of this user keep the browser that comes packed from npm. */
export const sharedBrowserDir: string = join(
  tmpdir(),
  `causey-test-chromium-${process.getuid?.() ?? ""}`,
);

/**
 * Puts the shared browser into a state directory, unpacking it when it is not there yet: a server then finds it
 * unpacked, which spares each of them some seconds of two cores.
 */
export async function lendBrowser(stateDir: string): Promise<void> {
  const found = await findChromium(process.env["CAUSEY_CHROMIUM_PATH"]);
  if (found?.kind !== "packed") return;
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  await extractChromium(found.package, sharedBrowserDir);
  await symlink(join(sharedBrowserDir, "chromium"), join(stateDir, "chromium"));
}
