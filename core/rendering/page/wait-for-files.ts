import { evaluate } from "./evaluate.ts";
import { layOut } from "./scripts/page-scripts.ts";
import type { Page } from "./page.ts";

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
    const before = files.changes;
    // The layout is made by then: pictures of style sheets, and fonts, are asked for no sooner.
    const unreadable = await evaluate(page, layOut, [all && filesMs > 0], signal);
    const left = due - system.monotonic();
    // A picture that came after the page was asked may be one that cannot be shown: the page is asked again.
    const isDone = !files.isWaiting && files.changes === before;
    if (isDone || left <= 0) return files.noteUnreadable(unreadable);
    if (files.isWaiting) await files.arrived(left, signal);
  }
}
