import { unzipSync } from "fflate";
import { Parser } from "htmlparser2";
import { MAX_LEVELS, TOO_DEEP } from "../read/html-text.ts";
import { refused } from "../read/refused.ts";

/** Bytes that a package may unpack to: a small file can be made of very many. */
const UNPACKED = 64 * 1024 * 1024;
/** Files of a package that are looked at. */
const MAX_FILES = 10_000;
/** Chapters, slides or sheets of one document. */
const MAX_PARTS = 5000;
/** Characters that are parsed between two yields: a few milliseconds of work. */
const STEP = 65_536;

/** The files of a ZIP package, each unpacked when it is asked for. */
export interface PackageParts {
  readonly names: readonly string[];
  /** The text of a file; empty when it is not there. */
  text(name: string): string;
  /**
   * The texts of parts that a document is made of, such as chapters. They are looked for in one go: a package of
   * thousands of files would otherwise be read thousands of times.
   */
  texts(names: readonly string[]): readonly (() => string)[];
}

/** Opens a package. Throws 7060 when its files are too many or too large. */
export function openPackage(bytes: Uint8Array): PackageParts {
  const sizes = new Map<string, number>();
  unzipSync(bytes, {
    filter({ name, originalSize }) {
      if (sizes.has(name)) throw refused(`the file holds "${name.slice(0, 100)}" twice`);
      sizes.set(name, originalSize);
      if (sizes.size > MAX_FILES) throw refused(`the file holds more than ${MAX_FILES} files`);
      return false;
    },
  });
  let left = UNPACKED;
  const count = (name: string): void => {
    left -= sizes.get(name) ?? 0;
    if (left < 0) throw refused(`the file unpacks to more than ${UNPACKED / 1024 / 1024} MB`);
  };
  const unpack = (names: ReadonlySet<string>): Record<string, Uint8Array> => {
    for (const name of names) count(name);
    return unzipSync(bytes, { filter: ({ name }) => names.has(name) });
  };
  const decode = (part: Uint8Array | undefined): string => new TextDecoder().decode(part);
  return {
    names: [...sizes.keys()],
    text: (name) => (sizes.has(name) ? decode(unpack(new Set([name]))[name]) : ""),
    texts(names) {
      if (names.length > MAX_PARTS) throw refused(`the file has more than ${MAX_PARTS} parts`);
      const unpacked = unpack(new Set(names));
      const used = new Set<string>();
      return names.map((name) => () => {
        // One part may stand in a document many times.
        if (used.has(name)) count(name);
        used.add(name);
        return decode(unpacked[name]);
      });
    },
  };
}

/** Handlers for the elements of an XML text; names come with their prefixes, e.g. `w:p`. */
export interface XmlEvents {
  open?(name: string, attributes: Readonly<Record<string, string>>): void;
  text?(text: string): void;
  close?(name: string): void;
}

/** Parses XML. Entities that a document declares are not expanded. */
export function* parseXml(xml: string, events: XmlEvents): Generator<void, void, void> {
  let levels = 0;
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        if (++levels > MAX_LEVELS) throw refused(TOO_DEEP);
        events.open?.(name, attributes);
      },
      ontext(text) {
        events.text?.(text);
      },
      onclosetag(name) {
        levels--;
        events.close?.(name);
      },
    },
    { xmlMode: true },
  );
  for (let at = 0; at < xml.length; at += STEP) {
    if (at > 0) yield;
    parser.write(xml.slice(at, at + STEP));
  }
  parser.end();
}

/** Returns the targets of a part's relations, by their ids; paths from the root of the package. */
export function* relations(
  parts: PackageParts,
  part: string,
): Generator<void, Map<string, string>, void> {
  const folder = part.slice(0, part.lastIndexOf("/") + 1);
  const out = new Map<string, string>();
  yield* parseXml(parts.text(`${folder}_rels/${part.slice(folder.length)}.rels`), {
    open(name, { Id = "", Target = "" }) {
      if (name === "Relationship") out.set(Id, resolved(folder, Target));
    },
  });
  return out;
}

/** Resolves a path in a folder of a package to one from its root. */
export function resolved(folder: string, path: string): string {
  return new URL(path, `http://package/${folder}`).pathname.slice(1);
}
