import type { TextBudget } from "../../files/text-budget.ts";
import type { DocumentText } from "../read/file-reader.ts";
import { htmlSteps } from "../read/html-text.ts";
import { openPackage, parseXml, resolved } from "./package-parts.ts";
import { refused } from "../read/refused.ts";

/** Returns the text of an EPUB book, its chapters in the order of reading. */
export function* epubText(
  bytes: Uint8Array,
  budget: TextBudget,
): Generator<void, DocumentText, void> {
  const parts = openPackage(bytes);
  let root = "";
  yield* parseXml(parts.text("META-INF/container.xml"), {
    open(name, attributes) {
      if (name === "rootfile" && root === "") root = attributes["full-path"] ?? "";
    },
  });
  const folder = root.slice(0, root.lastIndexOf("/") + 1);
  const files = new Map<string, string>();
  const order: string[] = [];
  yield* parseXml(parts.text(root), {
    open(tag, { id = "", href = "", idref = "" }) {
      const name = tag.replace(/^opf:/, "");
      if (name === "item") files.set(id, resolved(folder, href));
      else if (name === "itemref") order.push(idref);
    },
  });
  if (order.length === 0) throw refused("the file holds no chapters");
  const chapters = order
    .map((id) => decodeURIComponent(files.get(id) ?? ""))
    .filter((path) => /\.x?html?$/i.test(path));
  const out: string[] = [];
  for (const chapter of parts.texts(chapters)) {
    out.push(yield* htmlSteps(chapter(), budget));
    yield;
  }
  return { text: out.join("\n\n") };
}
