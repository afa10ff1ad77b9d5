import type { PDFDict, PDFDocument, PDFObject } from "@cantoo/pdf-lib";
import type { PdfLibrary } from "./library.ts";
import { dictionaryIn, nameEntries, objectText } from "./name-tree.ts";

/**
 * Has the links of a document name their pages instead of a name that the document keeps in a list (ISO 32000-1, 12.3.2.3):
 * pages that go to another document leave that list behind, and there the same name may lead elsewhere.
 */
export function writeOutTargets(library: PdfLibrary, document: PDFDocument): void {
  const { PDFName, PDFDict: Dict, PDFArray } = library;
  const targets = namedTargets(library, document);
  if (targets.size === 0) return;
  const writeOut = (holder: PDFDict, key: string): void => {
    const name = objectText(library, holder.lookup(PDFName.of(key)));
    const target = name === null ? undefined : targets.get(name);
    if (target !== undefined) holder.set(PDFName.of(key), target);
  };
  for (const { node } of document.getPages()) {
    const annotations = node.lookup(PDFName.of("Annots"));
    if (!(annotations instanceof PDFArray)) continue;
    for (let n = 0; n < annotations.size(); n++) {
      const one = annotations.lookup(n);
      if (!(one instanceof Dict)) continue;
      writeOut(one, "Dest");
      const action = dictionaryIn(library, one, "A");
      if (action?.lookup(PDFName.of("S")) === PDFName.of("GoTo")) writeOut(action, "D");
    }
  }
}

/** The targets of a document by name: an old list, and a tree. */
function namedTargets(library: PdfLibrary, { catalog }: PDFDocument): Map<string, PDFObject> {
  const { PDFName, PDFDict: Dict, PDFArray } = library;
  const found = new Map<string, PDFObject>();
  const add = (name: string | null, given: PDFObject | undefined): void => {
    const value = catalog.context.lookup(given);
    const target = value instanceof Dict ? value.lookup(PDFName.of("D")) : value;
    if (name !== null && target instanceof PDFArray) found.set(name, target);
  };
  const list = dictionaryIn(library, catalog, "Dests");
  for (const key of list?.keys() ?? []) add(objectText(library, key), list?.get(key));
  const names = dictionaryIn(library, catalog, "Names");
  const tree = names?.lookup(PDFName.of("Dests"));
  for (const { name, value } of nameEntries(library, tree)) add(name, value);
  return found;
}
