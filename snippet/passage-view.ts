import type { Passage } from "./endpoint.ts";

/** Characters of a passage that are shown, and how many of them stand before the first word that was looked for. */
const SHOWN = 200;
const BEFORE = 60;

/** Makes an element with children and attributes. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** The title of a passage: that of its item, else its headings, else the item's key. */
export function titleOf({ item, heading }: Passage): string {
  const title = item.metadata?.["title"];
  if (typeof title === "string" && title !== "") return title;
  return heading === undefined || heading === "" ? item.key : heading;
}

/**
 * The address of a passage: its `url`, its key if that is an address, else the page's pattern with the key in place of `{key}`. Null
 * without one, and for anything but the web: a key is a text of strangers.
 */
export function addressOf({ item }: Passage, pattern: string | null): string | null {
  const own = item.metadata?.["url"];
  const key = item.key.split("/").map(encodeURIComponent).join("/");
  const written =
    typeof own === "string"
      ? own
      : /^https?:\/\//u.test(item.key)
        ? item.key
        : pattern?.replace("{key}", () => key);
  if (written === undefined) return null;
  const url = URL.parse(written, document.baseURI);
  return url !== null && /^https?:$/u.test(url.protocol) ? url.href : null;
}

/** The part of a passage around the first word that was looked for, with all of them marked. */
export function excerpt({ text, matches_position: places }: Passage): readonly (Node | string)[] {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  // Places are in bytes of UTF-8.
  const at = (byte: number): number => decoder.decode(bytes.subarray(0, byte)).length;
  const marks = (places?.text ?? []).map(
    ({ start, length }) => [at(start), at(start + length)] as const,
  );
  const first = marks[0]?.[0] ?? 0;
  const from = first <= BEFORE ? 0 : text.indexOf(" ", first - BEFORE) + 1;
  const to = Math.min(text.length, from + SHOWN);
  const out: (Node | string)[] = from > 0 ? ["…"] : [];
  let last = from;
  for (const [start, end] of marks) {
    if (start < last || end > to) continue;
    out.push(text.slice(last, start), element("mark", {}, text.slice(start, end)));
    last = end;
  }
  out.push(text.slice(last, to));
  if (to < text.length) out.push("…");
  return out;
}
