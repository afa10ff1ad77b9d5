import { Parser } from "htmlparser2";
import { globParts, matchGlob } from "../../net/glob.ts";

/** An object of a bucket, as its list says. */
export type ListedObject = {
  readonly key: string;
  readonly etag: string;
  readonly bytes: number;
  /** Unix ms; null where it says nothing. */
  readonly modified: number | null;
};

/** A page of the list of a bucket. */
export type ObjectPage = {
  /** Those whose keys the patterns want. */
  readonly objects: readonly ListedObject[];
  /** The last key of all; null for an empty page. */
  readonly last: string | null;
  readonly isTruncated: boolean;
  /** The code of an error, e.g. `NoSuchBucket`; null for a list. */
  readonly error: string | null;
};

/** The answer of a bucket, and the patterns of the keys that are wanted. */
export type PageInput = {
  readonly text: string;
  readonly include: readonly string[];
  readonly exclude: readonly string[];
};

/** Characters that are parsed, and whose keys are held against all patterns, between two yields. */
const STEP = 16_384;
/** Characters of a key: no store has longer ones. */
const KEY = 1024;

/** Reads the answer of `ListObjectsV2`, whose keys are URL-encoded, or an error. */
export function* parseObjectPage({
  text,
  ...patterns
}: PageInput): Generator<void, ObjectPage, void> {
  const objects: ListedObject[] = [];
  const isWanted = filterOf(patterns);
  let last: string | null = null;
  const fields = new Map<string, string>();
  let [isTruncated, error, value] = [false, "", ""];
  const parser = new Parser(
    {
      onopentag(name) {
        value = "";
        if (name === "Contents") fields.clear();
      },
      ontext(part) {
        value += part;
      },
      onclosetag(name) {
        if (name === "Contents") {
          const object = toObject(fields);
          last = object.key;
          if (isWanted(last)) objects.push(object);
        } else if (name === "IsTruncated") isTruncated = value.trim() === "true";
        else if (name === "Code") error = value.trim();
        else fields.set(name, value);
        value = "";
      },
    },
    { xmlMode: true },
  );
  for (let at = 0; at < text.length; at += STEP) {
    if (at > 0) yield;
    parser.write(text.slice(at, at + STEP));
  }
  parser.end();
  return { objects, last, isTruncated, error: error === "" ? null : error };
}

/** Patterns are of whole keys; a slash at their beginning, as paths have, is left out. */
function filterOf({ include, exclude }: Omit<PageInput, "text">): (key: string) => boolean {
  const compiled = (patterns: readonly string[]): ((key: string) => boolean)[] =>
    patterns.map((pattern) => {
      const parts = globParts(pattern.replace(/^\//u, ""));
      return (key) => matchGlob(parts, key);
    });
  const [included, excluded] = [compiled(include), compiled(exclude)];
  return (key) =>
    key.length <= KEY &&
    // A key with a slash at its end stands for a folder.
    !key.endsWith("/") &&
    (included.length === 0 || included.some((matches) => matches(key))) &&
    !excluded.some((matches) => matches(key));
}

function toObject(fields: ReadonlyMap<string, string>): ListedObject {
  const modified = Date.parse(fields.get("LastModified") ?? "");
  return {
    key: decodedKey(fields.get("Key") ?? ""),
    etag: (fields.get("ETag") ?? "").replaceAll('"', ""),
    bytes: Number(fields.get("Size") ?? 0),
    modified: Number.isNaN(modified) ? null : modified,
  };
}

function decodedKey(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll("+", " "));
  } catch {
    // Not what was asked for: the key as it stands.
    return key;
  }
}
