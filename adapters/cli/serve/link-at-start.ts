import type { Log } from "../../../core/ports.ts";
import { consoleLink, type LinkTarget } from "../context/console-link.ts";

/** Returns the console's link for the start lines; null without a console, and when a full disk does not store it. */
export async function linkAtStart(target: LinkTarget, log: Log): Promise<string | null> {
  try {
    return await consoleLink(target);
  } catch (error) {
    const message = "No link to the console could be made: `causey console` makes one later";
    log("warn", message, { error: String(error) });
    return null;
  }
}
