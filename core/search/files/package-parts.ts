import { unzipSync } from "fflate";
import { Parser } from "htmlparser2";
import { refused } from "../read/refused.ts";

/** Bytes that a package may unpack to: a small file can be made of very many. */
const UNPACKED = 64 * 1024 * 1024;
/** Files of a package that are looked at. */
const MAX_FILES = 10_000;
/** Characters that are parsed between two yields: a few milliseconds of work. */
const STEP = 65_536;

/** The files of a ZIP package, each unpacked when it is asked for. */
export interface PackageParts {
  readonly names: readonly string[];
  /** The text of a file; empty when it is not there. */
  text(name: string): string;
}

/** Opens a package. Throws 7060 when its files are too many or too large. */
export function openPackage(bytes: Uint8Array): PackageParts {
  const sizes = new Map<string, number>();
  unzipSync(bytes, {
    filter({ name, originalSize }) {
      sizes.set(name, originalSize);
      if (sizes.size > MAX_FILES) throw refused(`the file holds more than ${MAX_FILES} files`);
      return false;
    },
  });
  let left = UNPACKED;
  return {
    names: [...sizes.keys()],
    text(name) {
      const size = sizes.get(name);
      if (size === undefined) return "";
      left -= size;
      if (left < 0) throw refused(`the file unpacks to more than ${UNPACKED / 1024 / 1024} MB`);
      const found = unzipSync(bytes, { filter: (file) => file.name === name })[name];
      return new TextDecoder().decode(found);
    },
  };
}

/** What hears of the elements of an XML text; names with their prefixes, e.g. `w:p`. */
export interface XmlEvents {
  open?(name: string, attributes: Readonly<Record<string, string>>): void;
  text?(text: string): void;
  close?(name: string): void;
}

/** Parses XML. Entities that a document declares are not expanded. */
export function* parseXml(xml: string, events: XmlEvents): Generator<void, void, void> {
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        events.open?.(name, attributes);
      },
      ontext(text) {
        events.text?.(text);
      },
      onclosetag(name) {
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

/** The targets of a part's relations, by their ids; paths from the root of the package. */
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

/** A path from the root of a package, of one from a folder in it. */
export function resolved(folder: string, path: string): string {
  return new URL(path, `http://package/${folder}`).pathname.slice(1);
}
