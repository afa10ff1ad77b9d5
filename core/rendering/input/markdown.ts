import type { Background, LongTask } from "../../ports.ts";

/** A document, what its relative addresses start from, and whether facts about it come first. */
export type MarkdownRequest = {
  readonly html: string;
  readonly base: string | null;
  readonly frontmatter: boolean;
};

/** Finds the frontmatter and the title of a document of any size. */
export const documentHead: LongTask<
  MarkdownRequest,
  { readonly head: string; readonly title: string }
> = {
  name: "rendering/head",
  async load() {
    const { conversion } = await import("../markdown/convert.ts");
    return function* ({ html, ...options }) {
      const { head, title } = yield* conversion(html, options);
      return { head, title };
    };
  },
};

/** Converts a document of any size. */
export const documentMarkdown: LongTask<MarkdownRequest, string> = {
  name: "rendering/markdown",
  async load() {
    const { conversion } = await import("../markdown/convert.ts");
    return function* ({ html, ...options }) {
      return (yield* conversion(html, options)).markdown;
    };
  },
};

/** Characters that are converted sooner than handed to a thread. */
const AT_ONCE = 16_384;

/** Converts a document that a browser has rendered; a long one beside the event loop. */
export async function convertDocument(
  request: MarkdownRequest,
  background: Background,
  signal: AbortSignal,
  owner?: string,
): Promise<string> {
  const { html, ...options } = request;
  if (html.length > AT_ONCE) return background.run(documentMarkdown, request, signal, owner);
  const { convertHtml } = await import("../markdown/convert.ts");
  return convertHtml(html, options).markdown;
}
