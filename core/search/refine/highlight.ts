import { utf8 } from "../../crypto/encoding.ts";
import type { InstanceState } from "../state/instance-state.ts";
import type { KeywordPlan } from "../query/keyword-plan.ts";
import { type Mark, marksIn } from "./marks.ts";

/** The fields of a request that ask for the words of a query to be marked, named as in Meilisearch. */
export type Highlighting = {
  readonly attributes_to_highlight?: readonly ("text" | "heading" | "*")[] | undefined;
  /** @default "<em>" */
  readonly highlight_pre_tag?: string | undefined;
  /** @default "</em>" */
  readonly highlight_post_tag?: string | undefined;
  readonly show_matches_position?: boolean | undefined;
};

/** The place of a word of the query in a text, in bytes of UTF-8. */
type MatchPosition = { readonly start: number; readonly length: number };

/** The query's words in a chunk; each field is there only if the request asked for it. */
export type Highlighted = {
  /** The text and its headings with tags around the words of the query. */
  readonly formatted?: Readonly<Record<string, string>>;
  /** The places of the query's words, in bytes of UTF-8. */
  readonly matches_position?: Readonly<Record<string, readonly MatchPosition[]>>;
};

/** Characters of a text that are looked through; the rest has no marks. */
const LOOKED_THROUGH = 50_000;

/** A function that marks the words of a query in a chunk, where that was asked for. */
export function highlighter(
  state: InstanceState,
  plan: KeywordPlan,
  asked: Highlighting | undefined,
): (chunk: { readonly text: string; readonly heading?: string }) => Promise<Highlighted> {
  const attributes = asked?.attributes_to_highlight ?? [];
  const shows = asked?.show_matches_position === true;
  if (asked === undefined || (attributes.length === 0 && !shows)) return () => Promise.resolve({});
  const { highlight_pre_tag: before = "<em>", highlight_post_tag: after = "</em>" } = asked;
  const find = marksIn(plan);
  return async (chunk) => {
    // Long texts take milliseconds.
    if (chunk.text.length > LOOKED_THROUGH / 10) await state.context.system.sleep(0);
    const formatted: [string, string][] = [];
    const positions: [string, MatchPosition[]][] = [];
    for (const [name, text] of [
      ["text", chunk.text],
      ["heading", chunk.heading ?? ""],
    ] as const) {
      if (text === "") continue;
      const marks = find(text.slice(0, LOOKED_THROUGH));
      if (attributes.includes(name) || attributes.includes("*"))
        formatted.push([name, tagged(text, marks, before, after)]);
      if (shows && marks.length > 0) positions.push([name, inBytes(text, marks)]);
    }
    return {
      ...(attributes.length > 0 && { formatted: Object.fromEntries(formatted) }),
      ...(shows && { matches_position: Object.fromEntries(positions) }),
    };
  };
}

function tagged(text: string, marks: readonly Mark[], before: string, after: string): string {
  let out = "";
  let at = 0;
  for (const { start, end } of marks) {
    out += `${text.slice(at, start)}${before}${text.slice(start, end)}${after}`;
    at = end;
  }
  return out + text.slice(at);
}

function inBytes(text: string, marks: readonly Mark[]): MatchPosition[] {
  let at = 0;
  let bytes = 0;
  return marks.map(({ start, end }) => {
    const from = bytes + utf8(text.slice(at, start)).length;
    const length = utf8(text.slice(start, end)).length;
    at = end;
    bytes = from + length;
    return { start: from, length };
  });
}
