/**
 * Markdown by Turndown, for operators who bring rules of their own. Needs the packages `turndown` and `linkedom`; nothing else
 * of causey imports them.
 *
 * @module
 */
import { ApiError } from "../../http/api-error.ts";
import type { MarkdownEngine } from "../input/engine.ts";

export type { MarkdownEngine } from "../input/engine.ts";

/** The part of Turndown's service that is used. */
export interface TurndownLike<Rule, Plugin> {
  addRule(name: string, rule: Rule): unknown;
  use(plugins: Plugin[]): unknown;
  turndown(node: never): string;
}

/** Options of {@link turndownEngine}. */
export interface TurndownEngineOptions<Rule, Plugin> {
  /** The class that the package `turndown` exports: its version is yours. */
  readonly Turndown: new (options: never) => TurndownLike<Rule, Plugin>;
  /** Options of its constructor. @default ATX headings, fenced code, `-` for lists */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Rules by name, as its `addRule()` takes them. @default none */
  readonly rules?: Readonly<Record<string, Rule>>;
  /** Plugins, as its `use()` takes them. @default none */
  readonly plugins?: readonly Plugin[];
}

/**
 * Makes Markdown by Turndown, with an operator's rules and plugins. It always gets an element of linkedom, without scripts, styles
 * and hidden elements, with absolute addresses, at most 10,000 elements, 100 deep (422/6003).
 *
 * @example
 * ```ts
 * import { memoryPlatform } from "causey/memory";
 * import { rendering } from "causey/rendering";
 * import { turndownEngine } from "causey/rendering/turndown";
 * import Turndown from "turndown";
 *
 * const markdownEngine = turndownEngine({
 *   Turndown,
 *   rules: { marked: { filter: "mark", replacement: (content) => `==${content}==` } },
 * });
 * const app = rendering({ platform: await memoryPlatform(), markdownEngine });
 * ```
 */
export function turndownEngine<Rule, Plugin>(
  settings: TurndownEngineOptions<Rule, Plugin>,
): MarkdownEngine {
  const { Turndown, options = {}, rules = {}, plugins = [] } = settings;
  const own = { headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-", ...options };
  // `as`: which options and nodes Turndown takes is for its own types to say.
  const service = new Turndown(own as never);
  for (const [name, rule] of Object.entries(rules)) service.addRule(name, rule);
  if (plugins.length > 0) service.use([...plugins]);
  return {
    async convert(html, base) {
      const { readableBody } = await import("./readable-body.ts").catch((error: unknown) => {
        throw new ApiError("missing_capability", {
          message: "markdownEngine: Install the package linkedom",
          cause: error,
        });
      });
      return service.turndown(readableBody(html, base) as never).trim();
    },
  };
}
