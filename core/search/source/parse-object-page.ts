import { Parser } from "htmlparser2";

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
  readonly objects: readonly ListedObject[];
  readonly isTruncated: boolean;
  /** The code of an error, e.g. `NoSuchBucket`; null for a list. */
  readonly error: string | null;
};

/** Characters that are parsed between two yields. */
const STEP = 16_384;

/** Reads the answer of `ListObjectsV2`, whose keys are URL-encoded, or an error. */
export function* parseObjectPage(text: string): Generator<void, ObjectPage, void> {
  const objects: ListedObject[] = [];
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
        if (name === "Contents") objects.push(toObject(fields));
        else if (name === "IsTruncated") isTruncated = value.trim() === "true";
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
  return { objects, isTruncated, error: error === "" ? null : error };
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
