import type { RenderBody } from "../input/body.ts";

/** The fields of a body that hold selectors which are read without a browser. */
export interface SelectorFields extends RenderBody {
  readonly elements?: readonly { readonly selector: string }[] | undefined;
  readonly includeTags?: readonly string[] | undefined;
  readonly excludeTags?: readonly string[] | undefined;
}

/** Selectors are read before a site is asked for anything; what reads them is loaded when it is needed. */
export async function checkSelectors(body: SelectorFields): Promise<void> {
  const { elements = [], includeTags = [], excludeTags = [] } = body;
  if (body.render !== false || elements.length + includeTags.length + excludeTags.length === 0)
    return;
  const { parseSelector } = await import("./selector.ts");
  for (const [index, { selector }] of elements.entries())
    parseSelector(`elements.${index}.selector`, selector);
  for (const [index, selector] of includeTags.entries())
    parseSelector(`includeTags.${index}`, selector);
  for (const [index, selector] of excludeTags.entries())
    parseSelector(`excludeTags.${index}`, selector);
}
