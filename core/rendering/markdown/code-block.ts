import { longestRun } from "./escape.ts";
import type { Attributes } from "./html-events.ts";

/** Returns the lines of a fenced code block; its fence is longer than any run of backticks inside. */
export function fenced(text: string, language: string): string[] {
  // trimEnd, not a pattern: \s+$ is quadratic on long runs of white space.
  const body = text.replace(/^\n/u, "").trimEnd();
  const fence = "`".repeat(Math.max(3, longestRun(body) + 1));
  return [fence + language, ...body.split("\n"), fence];
}

/** Attributes that name the language of code: Hugo and Jekyll, Gatsby and Expressive Code, Enlighter, GitHub. */
const NAMING = ["data-lang", "data-language", "data-enlighter-language", "data-tagsearch-lang"];

/**
 * Classes that name it: `language-ts`, `lang-ts`, GitHub's `highlight-source-ts`, Sphinx's `highlight-ts notranslate`, pandoc's
 * `sourceCode ts`, highlight.js's `hljs ts`, SyntaxHighlighter's `brush: ts`, Hexo's `highlight ts`.
 */
const CLASSES =
  /(?:^|\s)(?:language-|lang-|highlight-source-|highlight-(?=\S+ notranslate)|brush:\s?|^highlight\s(?=[a-z+#]+$)|(?:sourceCode|hljs)\s(?!hljs|language-|lang-))(?<name>[\p{L}\p{N}_+#.-]{1,40})(?:\s|$|;)/u;

/** Names of no language. */
const plain: ReadonlySet<string> = new Set(["default", "none", "nohighlight", "undefined"]);

/** Returns the language that an element names for its code by a class or an attribute; empty without one. */
export function languageOf(attributes: Attributes): string {
  let said = "";
  for (const name of NAMING) said ||= attributes[name] ?? "";
  if (!/^[\p{L}\p{N}_+#.-]{1,40}$/u.test(said)) said = ofClasses(attributes["class"]);
  const language = said.toLowerCase();
  return plain.has(language) ? "" : language;
}

function ofClasses(classes: string | undefined): string {
  if (classes === undefined) return "";
  return CLASSES.exec(classes.slice(0, 1000))?.groups?.["name"] ?? "";
}
