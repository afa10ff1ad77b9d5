import { parsedObject } from "../../http/json.ts";

/** A field of the front matter of a page. */
export type FrontField = string | number | boolean;

/** A text and the front matter that stood before it. */
export interface FrontMatter {
  /** Its fields, by their names in lower case; a list is its values, joined by ", ". */
  readonly fields: Readonly<Record<string, FrontField>>;
  /** The text behind it. */
  readonly body: string;
}

/** Characters of front matter; what is longer is text. */
const MOST = 16_384;
const MAX_FIELDS = 64;
const NAME = /^(?<name>[\p{L}_][\p{L}\p{N}_. -]{0,63}?)\s*(?<sign>[:=])(?:\s+(?<value>.*))?$/u;

/**
 * Returns the front matter of a Markdown file, as site generators read it: YAML between `---`, TOML between `+++`. Null
 * for a text without it.
 */
export function frontMatterOf(text: string): FrontMatter | null {
  const found = /^\uFEFF?(?<fence>---|\+\+\+)[^\S\n]*\r?\n/u.exec(text);
  const fence = found?.groups?.["fence"];
  if (found === null || fence === undefined) return null;
  const start = found[0].length;
  const end = fence === "---" ? /^(?:---|\.\.\.)[^\S\n]*$/mu : /^\+\+\+[^\S\n]*$/mu;
  const inner = text.slice(start, start + MOST);
  const close = end.exec(inner.replaceAll("\r\n", " \n"));
  if (close === null) return null;
  const source = inner.slice(0, close.index);
  const fields = fieldsOf(source);
  // A line between two rules is text.
  if (fields === null) return null;
  const behind = text.indexOf("\n", start + close.index);
  return { fields, body: behind < 0 ? "" : text.slice(behind + 1) };
}

/** Returns the scalars and lists of the outermost level; null for lines that are no fields. */
function fieldsOf(source: string): Record<string, FrontField> | null {
  const fields = new Map<string, FrontField>();
  let name = "";
  for (const line of outermostLines(source)) {
    const more = /^(?:\s+(?:-\s+)?|-\s+)(?<value>.*)$/u.exec(line)?.groups?.["value"];
    const field = more === undefined ? NAME.exec(line)?.groups : undefined;
    if (field !== undefined) {
      name = (field["name"] ?? "").trim().toLowerCase();
      if (fields.size < MAX_FIELDS) fields.set(name, valueOf((field["value"] ?? "").trim()));
    } else if (more === undefined || name === "") return null;
    else fields.set(name, joined(fields.get(name), more));
  }
  const filled = [...fields].filter(([, value]) => value !== "");
  return filled.length === 0 ? null : Object.fromEntries(filled);
}

/** Lines that are no comments, up to the first table of TOML: its fields are not the page's. */
function outermostLines(source: string): string[] {
  const lines = source.split(/\r?\n/u).filter((line) => !/^\s*(?:#|$)/u.test(line));
  const table = lines.findIndex((line) => line.startsWith("["));
  return table < 0 ? lines : lines.slice(0, table);
}

/** A value with the lines of a list, or of a longer text, below it. */
function joined(before: FrontField = "", line: string = ""): string {
  const value = String(scalarOf(line.trim()));
  return before === "" || /^[|>][-+\d]*$/u.test(String(before)) ? value : `${before}, ${value}`;
}

function valueOf(source: string): FrontField {
  if (!/^\[.*\]$/u.test(source)) return scalarOf(source);
  const list = source.slice(1, -1).match(/"(?:[^"\\]|\\.)*"|'[^']*'|[^,]+/gu) ?? [];
  return list.map((one) => String(scalarOf(one.trim()))).join(", ");
}

function scalarOf(source: string): FrontField {
  if (/^".*"$/su.test(source)) {
    const value = parsedObject(`{"value":${source}}`)?.["value"];
    return typeof value === "string" ? value : source.slice(1, -1);
  }
  if (/^'.*'$/su.test(source)) return source.slice(1, -1).replaceAll("''", "'");
  const plain = source.replace(/\s+#.*$/u, "").trim();
  if (/^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/u.test(plain)) return Number(plain);
  if (/^(?:true|false)$/iu.test(plain)) return plain.toLowerCase() === "true";
  return plain;
}
