import { longestRun } from "./escape.ts";
import type { Attributes } from "./html-events.ts";

/** Returns the lines of a fenced code block; its fence is longer than any run of backticks inside. */
export function fenced(text: string, language: string): string[] {
  // trimEnd, not a pattern: \s+$ is quadratic on long runs of white space.
  const body = text.replace(/^\n/u, "").trimEnd();
  const fence = "`".repeat(Math.max(3, longestRun(body) + 1));
  return [fence + language, ...body.split("\n"), fence];
}

/**
 * Returns the language that an element names for its code by a class (`language-ts`, `lang-ts`, `highlight-source-ts`) or
 * an attribute (`data-lang`); empty without one.
 */
export function languageOf(attributes: Attributes): string {
  const said = attributes["data-lang"] ?? attributes["data-language"] ?? "";
  return /^[\p{L}\p{N}_+#.-]{1,40}$/u.test(said)
    ? said.toLowerCase()
    : ofClasses(attributes["class"] ?? "");
}

function ofClasses(classes: string): string {
  const match =
    /(?:^|\s)(?:language|lang|highlight-source|brush:)-?\s?(?<name>[\p{L}\p{N}_+#.-]{1,40})(?:\s|$|;)/iu.exec(
      classes.slice(0, 1000),
    );
  return match?.groups?.["name"]?.toLowerCase() ?? "";
}
