import type { Config } from "../../../core/config/config.ts";
import { findChromium } from "../../shared/chromium/chromium-find.ts";
import { findFonts } from "../../shared/chromium/fonts.ts";
import type { DoctorFinding } from "./finding.ts";

/** Whether pages in any script can be drawn. */
export async function checkFonts({ rendering = {} }: Config): Promise<DoctorFinding> {
  const { detail, hint } = await findFonts(await findChromium(rendering.chromiumPath));
  const check = "fonts";
  return hint === null ? { check, status: "ok", detail } : { check, status: "warn", detail, hint };
}
