import type { TextBudget } from "../../files/text-budget.ts";
import { openPackage, parseXml, relations } from "./package-parts.ts";
import { type PagedText, pagedText } from "./paged-text.ts";
import { refused } from "../read/refused.ts";

/** Returns the text of a PPTX presentation: each slide below a heading with its number and title. */
export function* pptxText(bytes: Uint8Array, budget: TextBudget): Generator<void, PagedText, void> {
  const parts = openPackage(bytes);
  const main = "ppt/presentation.xml";
  const targets = yield* relations(parts, main);
  const slides: string[] = [];
  yield* parseXml(parts.text(main), {
    open(name, attributes) {
      if (name === "p:sldId") slides.push(targets.get(attributes["r:id"] ?? "") ?? "");
    },
  });
  if (slides.length === 0) throw refused("the file holds no slides");
  const out: { readonly number: number; readonly text: string }[] = [];
  for (const [n, slide] of parts.texts(slides).entries()) {
    const { title, paragraphs } = yield* slideText(slide(), budget);
    const heading = `## Slide ${n + 1}${title === "" ? "" : `: ${title}`}`;
    out.push({ number: n + 1, text: [heading, ...paragraphs].join("\n\n") });
    yield;
  }
  return pagedText(out);
}

function* slideText(
  xml: string,
  budget: TextBudget,
): Generator<void, { title: string; paragraphs: readonly string[] }, void> {
  const paragraphs: string[] = [];
  let title = "";
  let isTitle = false;
  let isText = false;
  let paragraph = "";
  yield* parseXml(xml, {
    open(name, { type }) {
      if (name === "p:sp") isTitle = false;
      else if (name === "p:ph") isTitle = type === "title" || type === "ctrTitle";
      else if (name === "a:p") paragraph = "";
      else if (name === "a:t") isText = true;
      else if (name === "a:br") paragraph += " ";
    },
    text(text) {
      if (!isText) return;
      budget.take(text.length);
      paragraph += text;
    },
    close(name) {
      if (name === "a:t") isText = false;
      if (name !== "a:p") return;
      const text = paragraph.trim();
      if (text === "") return;
      if (isTitle) title = `${title} ${text}`.trim();
      else paragraphs.push(text);
    },
  });
  return { title, paragraphs };
}
