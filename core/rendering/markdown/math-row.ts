/** A part of a formula whose TeX is known. */
export interface MathPart {
  readonly name: string;
  readonly tex: string;
}

/** The environment of a matrix by the brackets around it. */
const matrices: Readonly<Record<string, string>> = {
  "()": "pmatrix",
  "[]": "bmatrix",
  "\\{\\}": "Bmatrix",
  "||": "vmatrix",
  "\\mid\\mid": "vmatrix",
  "‖‖": "Vmatrix",
  "\\Vert\\Vert": "Vmatrix",
  "\\parallel\\parallel": "Vmatrix",
  "\\{": "cases",
};

const opening: ReadonlySet<string> = new Set([
  "(",
  "[",
  "\\{",
  "|",
  "‖",
  "\\Vert",
  "\\mid",
  "\\parallel",
]);

/** Joins parts beside each other; brackets around a matrix or around something tall belong to it. */
export function row(parts: readonly MathPart[]): string {
  const out: string[] = [];
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i];
    const next = parts[i + 1];
    if (part === undefined) break;
    const matrix = next === undefined ? null : inMatrix(part, next.tex.trim(), parts[i + 2]);
    if (matrix === null) out.push(part.tex);
    else {
      out.push(matrix.tex);
      i += matrix.taken - 1;
    }
  }
  return joined(stretched(out));
}

const MATRIX = /^\\begin\{matrix\}(?<cells>[^]*)\\end\{matrix\}$/u;

function inMatrix(
  { name, tex: open }: MathPart,
  inner: string,
  after: MathPart | undefined,
): { readonly tex: string; readonly taken: number } | null {
  if (name !== "mo" || !opening.has(open)) return null;
  const cells = MATRIX.exec(inner)?.groups?.["cells"];
  if (cells === undefined || cells.includes("\\begin{matrix}")) return null;
  const close = after?.name === "mo" ? after.tex : "";
  const both = matrices[open + close];
  const kind = both ?? (after === undefined || after.tex === "" ? matrices[open] : undefined);
  if (kind === undefined) return null;
  return { tex: `\\begin{${kind}}${cells}\\end{${kind}}`, taken: both === undefined ? 2 : 3 };
}

/** Brackets at both ends of a row grow with a fraction or a matrix in it. */
function stretched(parts: readonly string[]): readonly string[] {
  const open = parts[0] ?? "";
  const close = parts.at(-1) ?? "";
  const isPair = ["()", "[]", "\\{\\}", "||"].includes(open + close) && parts.length > 2;
  const inner = parts.slice(1, -1);
  if (!isPair || inner.includes(open) || inner.includes(close)) return parts;
  if (!inner.some((tex) => /\\(?:frac|begin|atop)\b/u.test(tex))) return parts;
  return [`\\left${open} `, ...inner, ` \\right${close}`];
}

const RELATIONS =
  /^(?:[=+<>-]|\\(?:leq|geq|neq|equiv|approx|cong|sim|simeq|propto|pm|mp|times|div|cdot|in|notin|subset|subseteq|to|Rightarrow|Leftrightarrow|iff|mapsto|cup|cap|wedge|vee))$/u;

/** Puts spaces around relations, and where a command would swallow the letter that follows. */
function joined(parts: readonly string[]): string {
  const out: string[] = [];
  // Looking at the whole text for each part would be quadratic.
  let last = " ";
  for (const part of parts) {
    if (part === "") continue;
    const isBinary = RELATIONS.test(part) && last !== " ";
    const isGlued = /^[a-z\d]/iu.test(part) && /\\[a-z]+$/iu.test(last.slice(-40));
    const isFunction = /^\\[a-z]/iu.test(part) && /[\p{L}\p{N}})]$/u.test(last.slice(-2));
    out.push((isBinary || isGlued || isFunction) && !last.endsWith(" ") ? " " : "", part);
    if (isBinary) out.push(" ");
    last = isBinary ? " " : part;
  }
  return out.join("").trimEnd();
}
