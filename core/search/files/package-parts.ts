import { Parser } from "htmlparser2";
import type { FileWarning } from "../read/file-warning.ts";
import { MAX_LEVELS, TOO_DEEP } from "../read/html-text.ts";
import { refused } from "../read/refused.ts";
import { type XmlAttributes, xmlNames } from "./xml-names.ts";
import { zipEntries, type ZipEntry } from "./zip-directory.ts";

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
  /** The text of a file; empty when it is not there. Throws 7060 when it is damaged. */
  text(name: string): string;
  /** The same for a part that a document can do without: where it cannot be read, `warnings` has its name. */
  optional(name: string, warnings: FileWarning[], page?: number): string;
}

/** Opens a package. Throws 7060 when its files are too many or too large. */
export function openPackage(bytes: Uint8Array): PackageParts {
  if (OLE.every((byte, at) => bytes[at] === byte))
    throw refused("the file is an old Office document, or protected by a password");
  const entries = new Map<string, ZipEntry>();
  const caseless = new Map<string, ZipEntry>();
  for (const entry of zipEntries(bytes, MAX_FILES)) {
    const { name } = entry;
    if (entries.has(name)) throw refused(`the file holds "${name.slice(0, 100)}" twice`);
    entries.set(name, entry);
    caseless.set(name.toLowerCase(), entry);
  }
  let left = UNPACKED;
  // Names of parts are compared without their letter case (ECMA-376, part 2, section 6.2.2.3).
  const find = (name: string): ZipEntry | undefined =>
    entries.get(name) ??
    entries.get(decoded(name)) ??
    caseless.get(name.toLowerCase()) ??
    caseless.get(decoded(name).toLowerCase());
  const unpack = (entry: ZipEntry): Uint8Array => {
    left -= entry.size;
    if (left < 0) throw refused(`the file unpacks to more than ${UNPACKED / 1024 / 1024} MB`);
    return entry.unpack();
  };
  return {
    names: [...entries.keys()],
    text(name) {
      const entry = find(name);
      return entry === undefined ? "" : xmlText(unpack(entry));
    },
    optional(name, warnings, page) {
      const entry = find(name);
      const lost = (why: string): string => {
        const of = page === undefined ? {} : { page };
        warnings.push({ code: "part_not_read", message: `"${decoded(name)}" ${why}`, ...of });
        return "";
      };
      if (entry === undefined) return lost("is missing");
      try {
        return xmlText(unpack(entry));
      } catch {
        if (left < 0) throw refused(`the file unpacks to more than ${UNPACKED / 1024 / 1024} MB`);
        return lost("is damaged");
      }
    },
  };
}

/** First bytes of a compound file, in which older Office documents lie, and those with a password ([MS-OFFCRYPTO], section 1.3). */
const OLE = [0xd0, 0xcf, 0x11, 0xe0];

/** Decodes a part: UTF-8 or UTF-16, told by its mark (ECMA-376, part 2, section 6.2.5). */
export function xmlText(bytes: Uint8Array): string {
  const [first, second] = bytes;
  const charset =
    first === 0xff && second === 0xfe
      ? "utf-16le"
      : first === 0xfe && second === 0xff
        ? "utf-16be"
        : "utf-8";
  return new TextDecoder(charset).decode(bytes);
}

/** Throws 7060 when a document has too many chapters, slides or sheets. */
export function checkParts(parts: readonly unknown[]): void {
  if (parts.length > MAX_PARTS) throw refused(`the file has more than ${MAX_PARTS} parts`);
}

/** Handlers for the elements of an XML text; names have the prefixes of `xml-names.ts`, e.g. `w:p`, whatever the text's are. */
export interface XmlEvents {
  open?(name: string, attributes: XmlAttributes): void;
  text?(text: string): void;
  close?(name: string): void;
}

/**
 * Parses XML. Entities that a document declares are not expanded. Of content in several versions (`mc:AlternateContent`)
 * one is read: the first that Office programs of today know, else the fallback (ECMA-376, part 3, section 9.3).
 */
export function* parseXml(xml: string, events: XmlEvents): Generator<void, void, void> {
  const names = xmlNames();
  const open: string[] = [];
  /** Whether a version was chosen, for each `mc:AlternateContent` around. */
  const chosen: boolean[] = [];
  /** The level of the version that is passed over. */
  let skipped = 0;
  const isChosen = (name: string, requires: string): boolean => {
    const taken = chosen.at(-1) === true;
    const known = requires.split(/\s+/u).every((one) => isKnown(names.namespaceOf(one)));
    const choice = !taken && (name === "mc:Fallback" || known);
    if (choice) chosen[chosen.length - 1] = true;
    return choice;
  };
  const parser = new Parser(
    {
      onopentag(tag, given) {
        const [name, attributes] = names.open(tag, given);
        if (open.push(name) > MAX_LEVELS) throw refused(TOO_DEEP);
        if (skipped > 0) return;
        if (name === "mc:AlternateContent") chosen.push(false);
        const isVersion = name === "mc:Choice" || name === "mc:Fallback";
        if (isVersion && !isChosen(name, attributes["Requires"] ?? "")) skipped = open.length;
        else events.open?.(name, attributes);
      },
      ontext(text) {
        if (skipped === 0) events.text?.(text);
      },
      onclosetag() {
        const name = open.pop() ?? "";
        names.close();
        if (skipped > open.length) skipped = 0;
        else if (skipped === 0) {
          if (name === "mc:AlternateContent") chosen.pop();
          events.close?.(name);
        }
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

/** Whether Office programs of today know a namespace: those of Microsoft and of ECMA-376. */
function isKnown(namespace: string | undefined): boolean {
  return /^http:\/\/schemas\.(?:microsoft\.com|openxmlformats\.org)\//u.test(namespace ?? "");
}

/** A relation of a part to another part of the package. */
export interface Relation {
  readonly id: string;
  /** The last word of its type, e.g. `notesSlide`: strict documents have other addresses before it. */
  readonly type: string;
  /** The path from the root of the package. */
  readonly target: string;
}

/** Returns the relations of a part to other parts of the package, in their order; `""` is the package itself. */
export function* relations(
  parts: PackageParts,
  part: string,
): Generator<void, readonly Relation[], void> {
  const folder = part.slice(0, part.lastIndexOf("/") + 1);
  const out: Relation[] = [];
  yield* parseXml(parts.text(`${folder}_rels/${part.slice(folder.length)}.rels`), {
    open(name, { Id: id = "", Type = "", Target = "", TargetMode = "" }) {
      if (name !== "Relationship" || TargetMode === "External") return;
      const type = Type.slice(Type.lastIndexOf("/") + 1);
      out.push({ id, type, target: resolved(folder, Target) });
    },
  });
  return out;
}

/** Returns the path of a package's main part: by its relations, else the first of the names that fits. */
export function* mainPart(parts: PackageParts, usual: RegExp): Generator<void, string, void> {
  const named = (yield* relations(parts, "")).find(({ type }) => type === "officeDocument");
  return named?.target ?? parts.names.find((name) => usual.test(name)) ?? "";
}

/** Resolves a path in a folder of a package to one from its root. */
export function resolved(folder: string, path: string): string {
  const all = path.startsWith("/") ? path : `${folder}${path}`;
  const out: string[] = [];
  for (const step of (all.split(/[?#]/u)[0] ?? "").split("/")) {
    if (step === "..") out.pop();
    else if (step !== "" && step !== ".") out.push(step);
  }
  return out.join("/");
}

/** Decodes the escapes of a path; a bare `%` stays. */
function decoded(path: string): string {
  return path.replaceAll(/(?:%[\da-f]{2})+/giu, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
}
