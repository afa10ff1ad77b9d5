import { htmlSteps } from "../items/html-text.ts";
import { openPackage, parseXml, resolved } from "./package-parts.ts";
import { refused } from "../read/refused.ts";

/** The text of an EPUB book, its chapters in the order of reading. */
export function* epubText(bytes: Uint8Array): Generator<void, string, void> {
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
  const out: string[] = [];
  for (const id of order) {
    const path = decodeURIComponent(files.get(id) ?? "");
    if (/\.x?html?$/i.test(path)) out.push(yield* htmlSteps(parts.text(path)));
    yield;
  }
  return out.join("\n\n");
}
