import type { PDFDict, PDFObject } from "@cantoo/pdf-lib";
import type { PdfLibrary } from "./library.ts";

/** Nodes of a tree of names that are read: a tree may be made to go round in circles. */
const MOST_NODES = 10_000;

/** An entry of a tree of names: its key as text, and both as they are written. */
export interface NameEntry {
  readonly name: string;
  readonly key: PDFObject;
  readonly value: PDFObject;
}

/** The entries of a tree of names (ISO 32000-1, 7.9.6). */
export function nameEntries(library: PdfLibrary, root: PDFObject | undefined): NameEntry[] {
  const { PDFName, PDFDict: Dict, PDFArray } = library;
  const found: NameEntry[] = [];
  const nodes = [root];
  for (let at = 0; at < nodes.length && at < MOST_NODES; at++) {
    const node = nodes[at];
    if (!(node instanceof Dict)) continue;
    const kids = node.lookup(PDFName.of("Kids"));
    if (kids instanceof PDFArray)
      for (let n = 0; n < kids.size() && nodes.length < MOST_NODES; n++) nodes.push(kids.lookup(n));
    const pairs = node.lookup(PDFName.of("Names"));
    if (!(pairs instanceof PDFArray)) continue;
    for (let n = 0; n + 1 < pairs.size(); n += 2) {
      const name = objectText(library, pairs.lookup(n));
      if (name !== null) found.push({ name, key: pairs.get(n), value: pairs.get(n + 1) });
    }
  }
  return found;
}

/** The text of a name or a string; null for other objects. */
export function objectText(
  { PDFName, PDFString, PDFHexString }: PdfLibrary,
  value: PDFObject | undefined,
): string | null {
  if (value instanceof PDFName) return value.decodeText();
  return value instanceof PDFString || value instanceof PDFHexString ? value.decodeText() : null;
}

/** The dictionary that a dictionary has below a name. */
export function dictionaryIn(
  { PDFName, PDFDict: Dict }: PdfLibrary,
  holder: PDFDict,
  name: string,
): PDFDict | null {
  const value = holder.lookup(PDFName.of(name));
  return value instanceof Dict ? value : null;
}
