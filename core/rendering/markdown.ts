import type { Job } from "./job.ts";
import type { Rendered } from "./render.ts";
import { htmlToMarkdown, type MarkdownOptions } from "./markdown/convert.ts";

/**
 * Whether Markdown can be made of a job's `html` without a browser: nothing in the body needs one, and the
 * markup brings no script (or scripts are off), so that a browser would show the same document.
 */
export function isStatic(job: Job): boolean {
  const { html, setJavaScriptEnabled, addScriptTag = [], waitForSelector } = job.body;
  if (html === undefined || addScriptTag.length > 0 || waitForSelector !== undefined) return false;
  return setJavaScriptEnabled === false || !mayRunScript(html);
}

/** Errs on the side of the browser: a mere mention of a script counts. What frames show is left out anyway. */
function mayRunScript(html: string): boolean {
  return /<script|<meta[^>]{0,200}refresh|\son[a-z]{3,30}\s{0,20}=/iu.test(html);
}

/** Converts a job's `html` without a browser. */
export function staticMarkdown(
  job: Job,
  options: { readonly frontmatter: boolean },
): Rendered<string> {
  const converted = htmlToMarkdown(job.body.html ?? "", {
    ...options,
    base: job.url?.href ?? null,
  });
  return { result: converted.markdown, meta: { title: converted.title } };
}

/** Converts a document that a browser has rendered. */
export function convertDocument(html: string, options: MarkdownOptions): string {
  return htmlToMarkdown(html, options).markdown;
}
