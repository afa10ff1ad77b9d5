import type { Context, Element } from "./context.ts";
import type { Attributes } from "./html-events.ts";

/** A formula: its TeX, when it brings that, else its text. */
export const math: Element = { open: openMath, close: endMath };

/** The TeX of a formula. */
export const annotation: Element = { open: openAnnotation, close: endAnnotation };

function openMath(context: Context, attributes: Attributes): void {
  const tex = /\\|\^/u.test(attributes["alttext"] ?? "") ? (attributes["alttext"] ?? "") : "";
  context.math ??= { text: "", tex, readingTex: false, isBlock: attributes["display"] === "block" };
}

function openAnnotation({ math: open }: Context, attributes: Attributes): void {
  if (open === null || attributes["encoding"] !== "application/x-tex") return;
  open.readingTex = true;
  open.tex = "";
}

function endAnnotation({ math: open }: Context): void {
  if (open !== null) open.readingTex = false;
}

function endMath(context: Context): void {
  const { inline, math: ended } = context;
  context.math = null;
  if (ended === null) return;
  const tex = ended.tex.replaceAll(/\s+/gu, " ").trim();
  const fence = ended.isBlock ? "$$" : "$";
  if (tex === "" || tex.includes("$")) inline.text(ended.text);
  else inline.atom(`${fence}${tex}${fence}`);
}
