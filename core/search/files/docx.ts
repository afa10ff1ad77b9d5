import { appendAll } from "../../text/append-all.ts";
import type { TextBudget } from "../../files/text-budget.ts";
import type { DocumentText } from "../read/file-reader.ts";
import type { FileWarning } from "../read/file-warning.ts";
import { refused } from "../read/refused.ts";
import { bodyReader } from "./docx-body.ts";
import { drawingTexts } from "./drawings.ts";
import { mainPart, openPackage, parseXml, type Relation, relations } from "./package-parts.ts";

/** Parts of a document beside its body, and the elements of which they are made. */
const NOTES: Readonly<Record<string, string>> = {
  footnotes: "w:footnote",
  endnotes: "w:endnote",
  comments: "w:comment",
};
/**
 * Returns the text of a DOCX document: headings, paragraphs, lists and tables, in their order; notes and comments behind the
 * paragraph that refers to them; texts of diagrams, charts, headers and footers at the end, each once.
 */
export function* docxText(
  bytes: Uint8Array,
  budget: TextBudget,
): Generator<void, DocumentText, void> {
  const parts = openPackage(bytes);
  const main = yield* mainPart(parts, /^word\/document\d*\.xml$/u);
  const xml = parts.text(main);
  if (xml === "") throw refused("the file holds no document");
  const warnings: FileWarning[] = [];
  const related = relatedParts(parts.names, yield* relations(parts, main), main);
  const named = (type: string): Relation[] => related.filter((one) => one.type === type);
  const [styles] = named("styles");
  const levels = yield* headingLevels(
    styles === undefined ? "" : parts.optional(styles.target, warnings),
  );
  const context = { levels, budget };
  const notes = new Map<string, string>();
  for (const [type, element] of Object.entries(NOTES))
    for (const { target } of named(type)) {
      const reading = bodyReader({ ...context, notes: new Map() }, element);
      yield* parseXml(parts.optional(target, warnings), reading);
      for (const [id, text] of reading.parts) notes.set(`${element} ${id}`, text);
    }
  const body = bodyReader({ ...context, notes });
  yield* parseXml(xml, body);
  const blocks = [...body.blocks, ...notes.values()];
  appendAll(blocks, yield* drawingTexts(related, { parts, budget, warnings }));
  const margins = new Set<string>();
  for (const { target } of [...named("header"), ...named("footer")]) {
    const reading = bodyReader({ ...context, notes });
    yield* parseXml(parts.optional(target, warnings), reading);
    margins.add(reading.blocks.join("\n\n"));
  }
  // Page numbers alone say nothing.
  for (const text of margins) if (/\p{L}/u.test(text)) blocks.push(text);
  for (const { target } of named("aFChunk"))
    warnings.push({ code: "part_not_read", message: `"${target}" is an embedded document` });
  return { text: blocks.join("\n\n"), warnings };
}

/** Returns the related parts of the main one; files without relations have theirs by their usual names. */
function relatedParts(
  names: readonly string[],
  related: readonly Relation[],
  main: string,
): readonly Relation[] {
  if (related.length > 0) return related;
  const folder = main.slice(0, main.lastIndexOf("/") + 1);
  return names.flatMap((target) => {
    const type = /^(styles|footnotes|endnotes|comments|header|footer)\d*\.xml$/u.exec(
      target.slice(folder.length),
    )?.[1];
    return type === undefined || !target.startsWith(folder) ? [] : [{ id: "", type, target }];
  });
}

/** Returns the levels of headings by the ids of their styles: ids are translated, names are not. */
function* headingLevels(styles: string): Generator<void, Map<string, number>, void> {
  const levels = new Map<string, number>();
  let id = "";
  yield* parseXml(styles, {
    open(name, attributes) {
      if (name === "w:style") id = attributes["w:styleId"] ?? "";
      if (name === "w:outlineLvl" && !levels.has(id)) setLevel(levels, id, attributes["w:val"]);
      if (name !== "w:name") return;
      const said = /^(?:heading ([1-6])|(title))$/iu.exec(attributes["w:val"] ?? "");
      if (said !== null) levels.set(id, said[2] === undefined ? Number(said[1]) : 1);
    },
  });
  return levels;
}

/** Levels of an outline count from 0; 9 is that of body text. */
function setLevel(levels: Map<string, number>, id: string, outline: string | undefined): void {
  if (/^[0-5]$/u.test(outline ?? "")) levels.set(id, Number(outline) + 1);
}
