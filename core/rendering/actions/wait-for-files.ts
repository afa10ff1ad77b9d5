import { evaluate } from "../page/evaluate.ts";
import { layOut } from "../page/page-scripts.ts";
import type { Page } from "../page/page.ts";

/**
 * Waits for the pictures, style sheets and fonts that the page has begun to load, for as long as the job gives them: a load that
 * waits for `DOMContentLoaded` waits for none of them. Pictures that cannot be shown are named as failed.
 * With `all`, pictures that wait until they are scrolled to are loaded too.
 */
export async function waitForFiles(page: Page, signal: AbortSignal, all: boolean): Promise<void> {
  const { files, filesMs, system } = page;
  // A plain document has none.
  if (page.isPlain) return;
  const due = system.monotonic() + filesMs;
  for (;;) {
    // The layout is made by then: pictures of style sheets, and fonts, are asked for no sooner.
    const unreadable = (await evaluate(page, layOut, [all && filesMs > 0], signal)) as string[];
    const left = due - system.monotonic();
    if (!files.isWaiting || left <= 0) return files.noteUnreadable(unreadable);
    await files.arrived(left, signal);
  }
}
