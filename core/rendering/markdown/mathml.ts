import type { Attributes } from "./html-events.ts";
import { type MathPart, row } from "./math-row.ts";
import { functions, plainTex, texOf } from "./math-symbols.ts";

/** An element of a formula that is open. */
interface Open {
  readonly name: string;
  readonly attributes: Attributes;
  readonly parts: MathPart[];
  text: string;
}

/** Reads a formula in MathML and makes TeX of it: each element's when it closes, so nothing recurses. */
export interface MathReader {
  open(name: string, attributes: Attributes): void;
  close(name: string): void;
  text(text: string): void;
  /** The TeX; null for a formula that is too long, or that has no text. */
  tex(): string | null;
}

/** Characters of TeX that are made of one formula, each level of it counted: a deep one copies its parts at each level. */
const WORK_LIMIT = 500_000;

export function mathReader(): MathReader {
  const root: Open = { name: "math", attributes: {}, parts: [], text: "" };
  const stack: Open[] = [root];
  let work = 0;
  const top = (): Open => stack.at(-1) ?? root;
  return {
    open(name, attributes) {
      stack.push({ name, attributes, parts: [], text: "" });
    },
    close(name) {
      if (stack.length === 1) return;
      const ended = stack.pop();
      if (ended === undefined || work > WORK_LIMIT) return;
      const tex = texOfElement(ended);
      work += tex.length + 1;
      // A row of one part is that part.
      const [only] = ended.parts;
      const isRow = only !== undefined && ended.parts.length === 1 && only.tex === tex;
      top().parts.push(isRow ? only : { name, tex });
    },
    text(text) {
      if (work <= WORK_LIMIT) top().text += text;
      work += text.length;
    },
    tex() {
      const tex = row([...root.parts, ...bare(root)]).trim();
      return tex === "" || work > WORK_LIMIT ? null : tex;
    },
  };
}

/** Text that stands in no token: it belongs nowhere, and is kept. */
function bare({ text }: Open): MathPart[] {
  const tex = texOf(text.replaceAll(/\s+/gu, " ").trim());
  return tex === "" ? [] : [{ name: "mtext", tex }];
}

function texOfElement(element: Open): string {
  const { name, attributes, parts } = element;
  const text = element.text.replaceAll(/\s+/gu, " ");
  const token = tokens.get(name);
  if (token !== undefined && parts.length === 0) return token(text.trim(), attributes, text);
  const all = row([...parts, ...bare(element)]);
  return shapes.get(name)?.(parts, { all, attributes }) ?? all;
}

/** The TeX of an element by its parts, and by all of them beside each other. */
type Shape = (
  parts: readonly MathPart[],
  whole: { readonly all: string; readonly attributes: Attributes },
) => string;

const texIn = (part: MathPart | undefined): string => part?.tex ?? "";

const shapes: ReadonlyMap<string, Shape> = new Map<string, Shape>([
  ["maction", ([shown]) => texIn(shown)],
  [
    "menclose",
    (_, { all, attributes }) =>
      /box/u.test(attributes["notation"] ?? "") ? `\\boxed{${all}}` : all,
  ],
  ["mfenced", (parts, { attributes }) => fenced(parts, attributes)],
  ["mfrac", ([above, below], { attributes }) => fraction(texIn(above), texIn(below), attributes)],
  ["mlabeledtr", (parts) => parts.map(texIn).join(" & ")],
  ["mmultiscripts", scripts],
  ["mover", ([part, mark]) => over(part, texIn(mark))],
  ["mphantom", (_, { all }) => `\\phantom{${all}}`],
  ["mroot", ([part, index]) => `\\sqrt[${texIn(index)}]{${texIn(part)}}`],
  ["msqrt", (_, { all }) => `\\sqrt{${all}}`],
  ["msub", ([part, index]) => `${base(part)}_{${texIn(index)}}`],
  ["msubsup", ([part, index, power]) => `${base(part)}_{${texIn(index)}}${raised(texIn(power))}`],
  ["msup", ([part, power]) => `${base(part)}${raised(texIn(power))}`],
  ["mtable", (parts) => `\\begin{matrix} ${parts.map(texIn).join(" \\\\ ")} \\end{matrix}`],
  ["mtr", (parts) => parts.map(texIn).join(" & ")],
  ["munder", ([part, mark]) => under(part, texIn(mark))],
  ["munderover", ([part, below, above]) => underAndOver(texIn(part), texIn(below), texIn(above))],
]);

function underAndOver(part: string, below: string, above: string): string {
  return isLimited(part)
    ? `${part}_{${below}}^{${above}}`
    : `\\overset{${above}}{\\underset{${below}}{${part}}}`;
}

type Token = (text: string, attributes: Attributes, whole: string) => string;

const variants: Readonly<Record<string, string>> = {
  bold: "mathbf",
  "bold-italic": "boldsymbol",
  "double-struck": "mathbb",
  fraktur: "mathfrak",
  monospace: "mathtt",
  normal: "mathrm",
  "sans-serif": "mathsf",
  script: "mathcal",
};

const tokens: ReadonlyMap<string, Token> = new Map<string, Token>([
  ["mi", identifier],
  ["mn", (text, attributes) => inVariant(texOf(text), attributes)],
  ["mo", operator],
  ["mtext", (_, __, whole) => (whole.trim() === "" ? spaces(whole) : `\\text{${plainTex(whole)}}`)],
  ["ms", (text) => `\\text{"${plainTex(text)}"}`],
  ["mspace", () => "\\,"],
  ["none", () => ""],
  ["mprescripts", () => ""],
]);

function spaces(text: string): string {
  return text === "" ? "" : "\\ ";
}

function inVariant(tex: string, attributes: Attributes): string {
  const command = variants[attributes["mathvariant"] ?? ""];
  return command === undefined || tex === "" ? tex : `\\${command}{${tex}}`;
}

function identifier(text: string, attributes: Attributes): string {
  const tex = texOf(text);
  if (functions.has(text)) return `\\${text}`;
  if (attributes["mathvariant"] === "normal" && tex.startsWith("\\")) return tex;
  if (attributes["mathvariant"] !== undefined) return inVariant(tex, attributes);
  // A name of several letters is upright in MathML, and a product in TeX.
  return /^\p{L}[\p{L}\p{N}]+$/u.test(text) ? `\\mathrm{${tex}}` : tex;
}

function operator(text: string): string {
  if (functions.has(text)) return `\\${text}`;
  return /^\p{L}{2,}$/u.test(text) ? `\\operatorname{${texOf(text)}}` : texOf(text);
}

function fraction(above: string, below: string, attributes: Attributes): string {
  const isBar = !/^0(?:\D|$)/u.test(attributes["linethickness"] ?? "");
  return isBar ? `\\frac{${above}}{${below}}` : `{${above} \\atop ${below}}`;
}

/** Writes the base of a script: in braces, unless it is one character or command. */
function base(part: MathPart | undefined): string {
  const tex = part?.tex ?? "";
  if (/^(?:[^\\{}^_]|\\[a-z]+|\\(?:mathrm|mathbf|mathbb|mathcal)\{[^{}]*\})$/iu.test(tex))
    return tex;
  const isWrapped = part?.name === "mn" || part?.name === "mi" || /^\\left[^]*\S$/u.test(tex);
  if (isWrapped || /^[([][^()[\]]*[)\]]$/u.test(tex)) return tex;
  return `{${tex}}`;
}

function raised(tex: string): string {
  return /^(?:\\prime ?)+$/u.test(tex) || /^'+$/u.test(tex)
    ? "'".repeat(tex.match(/\\prime|'/gu)?.length ?? 1)
    : `^{${tex}}`;
}

const limited =
  /^\\(?:sum|prod|coprod|i{1,3}nt|oint|big\w+|lim|liminf|limsup|max|min|sup|inf|det|gcd|Pr|operatorname\{[^{}]*\})$/u;

/** Whether an operator has its bounds below and above it by itself. */
function isLimited(tex: string): boolean {
  return limited.test(tex);
}

function under(part: MathPart | undefined, mark: string): string {
  const tex = part?.tex ?? "";
  if (isLimited(tex)) return `${tex}_{${mark}}`;
  if (mark === "⏟") return `\\underbrace{${tex}}`;
  if (/^(?:_|\\_|¯|\u0332|―)$/u.test(mark)) return `\\underline{${tex}}`;
  return tex.startsWith("\\underbrace{") ? `${tex}_{${mark}}` : `\\underset{${mark}}{${tex}}`;
}

/** Accents by their character. */
const accents: ReadonlyMap<string, string> = new Map([
  ["\\hat{}", "hat"],
  ["ˆ", "hat"],
  ["\\sim", "tilde"],
  ["˜", "tilde"],
  ["¯", "bar"],
  ["‾", "bar"],
  ["―", "overline"],
  ["-", "bar"],
  ["\\to", "vec"],
  ["⃗", "vec"],
  ["˙", "dot"],
  [".", "dot"],
  ["¨", "ddot"],
  ["ˇ", "check"],
  ["˘", "breve"],
  ["⏞", "overbrace"],
]);

function over(part: MathPart | undefined, mark: string): string {
  const tex = part?.tex ?? "";
  if (isLimited(tex)) return `${tex}^{${mark}}`;
  const accent = accents.get(mark.trim());
  if (accent === undefined)
    return tex.startsWith("\\overbrace{") ? `${tex}^{${mark}}` : `\\overset{${mark}}{${tex}}`;
  const isWide = accent === "bar" && !/^(?:[^\\]|\\[a-z]+(?:\{.\})?)$/iu.test(tex);
  return `\\${isWide ? "overline" : accent}{${tex}}`;
}

/** Indices to the right of a base, then, after `mprescripts`, to the left of it. */
function scripts(parts: readonly MathPart[]): string {
  const [first, ...rest] = parts;
  const at = rest.findIndex(({ name }) => name === "mprescripts");
  const after = at < 0 ? rest : rest.slice(0, at);
  const before = at < 0 ? [] : rest.slice(at + 1);
  const indices = (list: readonly MathPart[]): string =>
    list.map(({ tex }, i) => (tex === "" ? "" : `${i % 2 === 0 ? "_" : "^"}{${tex}}`)).join("");
  const left = indices(before);
  return `${left === "" ? "" : `{}${left}`}${base(first)}${indices(after)}`;
}

function fenced(parts: readonly MathPart[], attributes: Attributes): string {
  const { open = "(", close = ")", separators = "," } = attributes;
  const [separator = ""] = separators.trim();
  const inner = parts.flatMap((part, i) =>
    i === 0 ? [part] : [{ name: "mo", tex: texOf(separator) }, part],
  );
  const mo = (text: string): MathPart[] => (text === "" ? [] : [{ name: "mo", tex: texOf(text) }]);
  return row([...mo(open), ...inner, ...mo(close)]);
}
