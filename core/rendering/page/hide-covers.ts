import type { RenderBody } from "../input/body.ts";
import { evaluate } from "./evaluate.ts";
import type { Page } from "./page.ts";
import { hideCoversScript } from "./scripts/hide-covers-script.ts";

/** Hides what covers the page, as the body asks for it. */
export async function hideCovers(
  page: Page,
  { hideCookieBanners: banners = false, removeOverlays: overlays = false }: RenderBody,
  signal: AbortSignal,
): Promise<void> {
  if (banners || overlays) await evaluate(page, hideCoversScript, [banners, overlays], signal);
}
