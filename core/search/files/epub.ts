import type { TextBudget } from "../../files/text-budget.ts";
import { xhtmlAsHtml } from "../../text/xhtml-as-html.ts";
import type { DocumentText } from "../read/file-reader.ts";
import type { FileWarning } from "../read/file-warning.ts";
import { htmlSteps } from "../read/html-text.ts";
import { refused } from "../read/refused.ts";
import { checkParts, openPackage, type PackageParts, parseXml, resolved } from "./package-parts.ts";

/** A chapter, or another file that a book lists in the order of reading. */
interface Chapter {
  readonly path: string;
  readonly type: string;
}

/** Returns the text of an EPUB book, its chapters in the order of reading. A chapter that cannot be read is left out. */
export function* epubText(
  bytes: Uint8Array,
  budget: TextBudget,
): Generator<void, DocumentText, void> {
  const parts = openPackage(bytes);
  const chapters = yield* chaptersOf(parts);
  if (chapters.length === 0) throw refused("the file holds no chapters");
  checkParts(chapters);
  const sealed = yield* encryptedFiles(parts.text("META-INF/encryption.xml"));
  const warnings: FileWarning[] = [];
  const out: string[] = [];
  for (const { path, type } of chapters) {
    if (sealed.has(path)) {
      warnings.push({ code: "part_not_read", message: `"${path}" is encrypted` });
      continue;
    }
    if (!isText(path, type)) {
      // A page may be a picture.
      if (!type.startsWith("image/"))
        warnings.push({ code: "part_not_read", message: `"${path}" is ${type || "of no type"}` });
      continue;
    }
    const chapter = yield* xhtmlAsHtml(parts.optional(path, warnings));
    out.push(yield* htmlSteps(chapter, budget));
    yield;
  }
  const text = out.filter((chapter) => chapter !== "").join("\n\n");
  const [first] = warnings;
  if (text === "" && first !== undefined) throw refused(`no chapter can be read: ${first.message}`);
  return { text, warnings };
}

/** Returns what the book's package lists in the order of reading (www.w3.org/TR/epub-33, section 5.7). */
function* chaptersOf(parts: PackageParts): Generator<void, Chapter[], void> {
  let root = "";
  yield* parseXml(parts.text("META-INF/container.xml"), {
    open(name, attributes) {
      if (localName(name) === "rootfile" && root === "") root = attributes["full-path"] ?? "";
    },
  });
  const folder = root.slice(0, root.lastIndexOf("/") + 1);
  const files = new Map<string, Chapter>();
  const order: string[] = [];
  yield* parseXml(parts.text(root), {
    open(tag, { id = "", href = "", idref = "", "media-type": type = "" }) {
      const name = localName(tag);
      if (name === "item") files.set(id, { path: resolved(folder, href), type });
      else if (name === "itemref") order.push(idref);
    },
  });
  return order.map((id) => files.get(id) ?? { path: id, type: "" });
}

/** Books of older forms have other namespaces. */
function localName(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}

function isText(path: string, type: string): boolean {
  return (
    /(?:html|xml)/iu.test(type.replace(/^image\/.*/u, "")) || /\.(?:x?html?|xml)$/iu.test(path)
  );
}

/** Returns the files of a book that are encrypted (www.w3.org/TR/epub-33, section 4.2.6.3.2). */
function* encryptedFiles(xml: string): Generator<void, ReadonlySet<string>, void> {
  const files = new Set<string>();
  yield* parseXml(xml, {
    open(name, { URI = "" }) {
      if (localName(name) === "CipherReference") files.add(resolved("", URI));
    },
  });
  return files;
}
