import { runThrough } from "../../work/background.ts";
import type { Context, OpenMath } from "./context.ts";
import { readHtml, type Attributes } from "./html-events.ts";
import { mathReader } from "./mathml.ts";

/** Begins a formula in MathML. */
export function openMath(context: Context, attributes: Attributes): void {
  const { alttext = "" } = attributes;
  context.math = {
    text: "",
    tex: /\\|\^/u.test(alttext) ? alttext : "",
    reads: "formula",
    isBlock: attributes["display"] === "block",
    reader: mathReader(),
    script: null,
  };
}

/** Begins a formula that a script holds; false for any other script. */
export function openMathScript(context: Context, attributes: Attributes): boolean {
  const type = /^math\/(?<kind>tex|mml)\b(?<rest>.*)$/iu.exec(attributes["type"] ?? "")?.groups;
  if (type === undefined || context.math !== null || context.skipped > 0) return false;
  const script = type["kind"]?.toLowerCase() === "mml" ? "mml" : "tex";
  const reads = script === "tex" ? "tex" : "formula";
  const isBlock = /mode\s*=\s*display/iu.test(type["rest"] ?? "");
  context.math = { text: "", tex: "", reads, isBlock, reader: mathReader(), script };
  return true;
}

/** Opens an element inside a formula. */
export function openInMath(math: OpenMath, name: string, attributes: Attributes): void {
  if (name !== "annotation") return math.reader.open(name, attributes);
  const isTex = attributes["encoding"]?.toLowerCase() === "application/x-tex";
  math.reads = isTex ? "tex" : "note";
  if (isTex) math.tex = "";
}

/** Closes an element inside a formula, or the formula. */
export function closeInMath(context: Context, math: OpenMath, name: string): void {
  if (name === "annotation") math.reads = "formula";
  else if (name === (math.script === null ? "math" : "script")) endMath(context, math);
  else math.reader.close(name);
}

export function addToMath(math: OpenMath, text: string): void {
  if (math.reads === "note") return;
  if (math.reads === "tex") math.tex += text;
  else {
    math.text += text;
    if (math.script === null) math.reader.text(text);
  }
}

function endMath(context: Context, math: OpenMath): void {
  context.math = null;
  if (math.script === "mml") return writeMathMl(context, math.text);
  const tex = math.tex.replaceAll(/\s+/gu, " ").trim();
  writeFormula(context, tex === "" || tex.includes("$") ? math.reader.tex() : tex, math);
}

/** Writes TeX between dollars; without TeX the text. */
function writeFormula(
  { inline }: Context,
  tex: string | null,
  { text, isBlock }: { readonly text: string; readonly isBlock: boolean },
): void {
  const fence = isBlock ? "$$" : "$";
  if (tex === null) inline.text(text);
  else inline.atom(`${fence}${tex}${fence}`);
}

/** Writes the formula that markup in a script describes. */
function writeMathMl(context: Context, markup: string): void {
  runThrough(
    readHtml(markup, {
      open(name, attributes) {
        if (context.math !== null) openInMath(context.math, name, attributes);
        else if (name === "math") openMath(context, attributes);
      },
      close(name) {
        if (context.math !== null) closeInMath(context, context.math, name);
      },
      text(text) {
        if (context.math !== null) addToMath(context.math, text);
      },
    }),
  );
}

/** Pictures of formulas whose `alt` is the TeX: of MediaWiki, and of WordPress. */
const PICTURES = /(?:^|\s)(?:mwe-math-fallback-image-(?<mode>inline|display)|latex)(?:\s|$)/u;

/** Writes a picture of a formula as the formula; false for any other picture. */
export function writePicturedFormula(context: Context, attributes: Attributes): boolean {
  const picture = PICTURES.exec(attributes["class"] ?? "");
  const tex = (attributes["alt"] ?? "").replaceAll(/\s+/gu, " ").trim();
  if (picture === null || tex === "" || tex.includes("$")) return false;
  writeFormula(context, tex, { text: "", isBlock: picture.groups?.["mode"] === "display" });
  return true;
}

/** Whether an element shows a formula that MathJax 2 has drawn, the source of which follows in a script. */
export function isFrameOfScript(attributes: Attributes): boolean {
  const { id } = attributes;
  return id?.startsWith("MathJax-Element-") === true && id.endsWith("-Frame");
}

/** Whether a document holds formulas in scripts. */
export function hasMathScripts(html: string): boolean {
  return /<script[^>]{1,200}math\/(?:tex|mml)/iu.test(html);
}
