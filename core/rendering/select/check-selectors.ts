import type { ScrapeBody } from "../body.ts";

/** Selectors are read before a site is asked for anything; what reads them is loaded when it is needed. */
export async function checkSelectors({ render: isRendered, elements }: ScrapeBody): Promise<void> {
  if (isRendered !== false) return;
  const { parseSelector } = await import("./selector.ts");
  for (const [index, { selector }] of elements.entries())
    parseSelector(`elements.${index}.selector`, selector);
}
