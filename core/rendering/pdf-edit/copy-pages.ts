import type { PDFDict, PDFDocument, PDFObject, PDFPageLeaf } from "@cantoo/pdf-lib";
import type { PdfLibrary } from "./library.ts";
import { writeOutTargets } from "./link-targets.ts";

/** Members of a catalog that a copy gets: the language, and how readers show the document. */
const KEPT = ["Lang", "ViewerPreferences", "PageLayout"];

/**
 * Adds pages of a document to another one, in the order of their indexes. Links among them keep their targets; the pages that
 * are left out leave nothing behind.
 */
export async function* appendPages(
  library: PdfLibrary,
  to: PDFDocument,
  from: PDFDocument,
  indexes: readonly number[],
): AsyncGenerator<void, void, void> {
  const pages = from.getPages();
  const wanted = new Set(indexes);
  // A link to a page would copy that, too: pages that are not wanted are gone meanwhile.
  const others = pages.filter((_, index) => !wanted.has(index));
  writeOutTargets(library, from);
  for (const { ref } of others) from.context.delete(ref);
  try {
    const copier = library.PDFObjectCopier.for(from.context, to.context);
    for (const index of indexes) {
      const page = pages[index];
      if (page === undefined) continue;
      // Its reference is copied, not the page: a link to it has the same one.
      const ref = copier.copy(page.ref);
      const leaf = to.context.lookup(ref, library.PDFDict) as PDFPageLeaf;
      withoutTags(library, leaf);
      to.addPage(library.PDFPage.of(leaf, ref, to));
      yield;
    }
  } finally {
    for (const { ref, node } of others) from.context.assign(ref, node);
  }
}

/** Makes a document of some pages of another one. */
export async function* documentOfPages(
  library: PdfLibrary,
  from: PDFDocument,
  indexes: readonly number[],
): AsyncGenerator<void, PDFDocument, void> {
  const to = await library.PDFDocument.create({ updateMetadata: false });
  yield* appendPages(library, to, from, indexes);
  const copier = library.PDFObjectCopier.for(from.context, to.context);
  const info: PDFObject | undefined = from.context.lookup(from.context.trailerInfo.Info);
  if (info instanceof library.PDFDict)
    to.context.trailerInfo.Info = to.context.register(copier.copy(info));
  for (const name of KEPT) {
    const value = from.catalog.lookup(library.PDFName.of(name));
    if (value !== undefined) to.catalog.set(library.PDFName.of(name), copier.copy(value));
  }
  return to;
}

/** Numbers in the tree of another document's tags would be taken for those of this one. */
function withoutTags({ PDFName, PDFArray, PDFDict: Dict }: PdfLibrary, leaf: PDFDict): void {
  leaf.delete(PDFName.of("StructParents"));
  const annotations = leaf.lookup(PDFName.of("Annots"));
  if (!(annotations instanceof PDFArray)) return;
  for (let n = 0; n < annotations.size(); n++) {
    const one = annotations.lookup(n);
    if (one instanceof Dict) one.delete(PDFName.of("StructParent"));
  }
}
