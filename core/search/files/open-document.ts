import type { TextBudget } from "../../files/text-budget.ts";
import type { DocumentText } from "../read/file-reader.ts";
import type { FileWarning } from "../read/file-warning.ts";
import { refused } from "../read/refused.ts";
import { openDocumentBody, type OpenDocumentBody } from "./open-document-body.ts";
import { openPackage, type PackageParts, parseXml, xmlText } from "./package-parts.ts";
import { pagedText } from "./paged-text.ts";

/** Charts and other documents that stand in a document. */
const OBJECT = /^(Object[^/]*)\/content\.xml$/u;

/**
 * Returns the text of an OpenDocument text, sheet, presentation or drawing: headings, lists and tables in their order; notes and
 * comments behind the paragraph that refers to them; each sheet a table below its name, each slide below a heading; charts
 * below their sheet or table, or where they are anchored; headers and footers at the end.
 */
export function* openDocumentText(
  bytes: Uint8Array,
  budget: TextBudget,
): Generator<void, DocumentText, void> {
  const parts = isPackage(bytes) ? openPackage(bytes) : flatParts(bytes);
  if (yield* isEncrypted(parts.text("META-INF/manifest.xml")))
    throw refused("the file is protected by a password");
  const xml = parts.text("content.xml");
  if (xml === "") throw refused("the file holds no document");
  const warnings: FileWarning[] = [];
  const objects = new Map<string, readonly string[]>();
  for (const name of parts.names) {
    const folder = OBJECT.exec(name)?.[1];
    if (folder !== undefined)
      objects.set(folder, (yield* read(parts.optional(name, warnings), budget)).blocks);
  }
  const { about, blocks, pages } = yield* read(xml, budget, objects);
  if (about.kind === "" && !isPackage(bytes)) throw refused("the file holds no document");
  const beside = [...objects.values()].flat();
  if (about.kind === "text") {
    const { margins } = yield* read(parts.optional("styles.xml", warnings), budget);
    // Page numbers alone say nothing.
    for (const text of new Set(margins)) if (/\p{L}/u.test(text)) beside.push(text);
  }
  const paged = pagedText(
    pages.map(({ title, blocks: own }, n) => {
      const heading = `## ${about.kind === "presentation" ? "Slide" : "Page"} ${n + 1}`;
      const first = `${heading}${title === "" ? "" : `: ${title}`}`;
      return { number: n + 1, text: [first, ...own].join("\n\n") };
    }),
  );
  const text = [paged.text, ...blocks, ...beside].filter((block) => block !== "").join("\n\n");
  return { text, warnings, ...(pages.length > 0 ? { pages: paged.pages } : {}) };
}

function isPackage([first, second]: Uint8Array): boolean {
  return first === 0x50 && second === 0x4b;
}

/** A document that is one XML file, with everything in it (OpenDocument 1.3, part 3, section 3.1.2). */
function flatParts(bytes: Uint8Array): PackageParts {
  const xml = xmlText(bytes);
  const text = (name: string): string =>
    name === "content.xml" || name === "styles.xml" ? xml : "";
  return { names: [], text, optional: text };
}

function* read(
  xml: string,
  budget: TextBudget,
  objects?: Map<string, readonly string[]>,
): Generator<void, OpenDocumentBody, void> {
  const body = openDocumentBody(budget, objects);
  yield* parseXml(xml, body);
  return body;
}

/** Whether a manifest names a file that is encrypted (OpenDocument 1.3, part 2, section 4.8). */
function* isEncrypted(manifest: string): Generator<void, boolean, void> {
  let found = false;
  yield* parseXml(manifest, {
    open(name) {
      if (name === "manifest:encryption-data") found = true;
    },
  });
  return found;
}
