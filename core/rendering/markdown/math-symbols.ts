/*
 * The commands of TeX for the characters of formulas; other characters stand for themselves, as KaTeX and MathJax read
 * them. From the W3C's "XML Entity Definitions for Characters" and KaTeX's table of supported functions.
 */
const letters =
  "α alpha β beta γ gamma δ delta ε varepsilon ϵ epsilon ζ zeta η eta θ theta ϑ vartheta ι iota κ kappa λ lambda μ mu " +
  "µ mu ν nu ξ xi π pi ϖ varpi ρ rho ϱ varrho σ sigma ς varsigma τ tau υ upsilon φ varphi ϕ phi χ chi ψ psi ω omega " +
  "Γ Gamma Δ Delta Θ Theta Λ Lambda Ξ Xi Π Pi Σ Sigma Υ Upsilon Φ Phi Ψ Psi Ω Omega ∞ infty ∂ partial ∇ nabla ∅ emptyset " +
  "ℓ ell ℏ hbar ℜ Re ℑ Im ℵ aleph ∀ forall ∃ exists ∄ nexists ¬ neg ⊤ top ⊥ bot ∠ angle ℝ mathbb{R} ℕ mathbb{N} " +
  "ℤ mathbb{Z} ℚ mathbb{Q} ℂ mathbb{C} ℙ mathbb{P} ℍ mathbb{H} ı imath ȷ jmath ° degree";

const operators =
  "∑ sum ∏ prod ∐ coprod ∫ int ∬ iint ∭ iiint ∮ oint ⋃ bigcup ⋂ bigcap ⋁ bigvee ⋀ bigwedge ⨁ bigoplus ⨂ bigotimes " +
  "≤ leq ≥ geq ≠ neq ≡ equiv ≈ approx ≅ cong ∼ sim ≃ simeq ∝ propto ≪ ll ≫ gg ≺ prec ≻ succ ⪯ preceq ⪰ succeq ± pm ∓ mp × times " +
  "÷ div ⋅ cdot · cdot ∗ ast ⋆ star ∘ circ • bullet ⊕ oplus ⊗ otimes ⊖ ominus ⊙ odot ∪ cup ∩ cap ∖ setminus ∨ vee ∧ wedge ∈ in " +
  "∉ notin ∋ ni ⊂ subset ⊆ subseteq ⊃ supset ⊇ supseteq ⊢ vdash ⊨ models ∣ mid ∥ parallel → to ← leftarrow " +
  "↔ leftrightarrow ⇒ Rightarrow ⇐ Leftarrow ⇔ Leftrightarrow ⟹ Longrightarrow ⟺ iff ⟶ longrightarrow ⟵ longleftarrow ↦ mapsto " +
  "↑ uparrow ↓ downarrow ⇌ rightleftharpoons … ldots ⋯ cdots ⋮ vdots ⋱ ddots ′ prime ⟨ langle ⟩ rangle ⌈ lceil ⌉ rceil " +
  "⌊ lfloor ⌋ rfloor ‖ Vert ∴ therefore ∵ because";

const commands: ReadonlyMap<string, string> = new Map(
  [...`${letters} ${operators}`.matchAll(/(?<char>\S+) (?<name>\S+)/gu)].map(({ groups }) => [
    groups?.["char"] ?? "",
    `\\${groups?.["name"] ?? ""}`,
  ]),
);

/** Functions that TeX sets upright by a command of their own. */
export const functions: ReadonlySet<string> = new Set(
  (
    "arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf limsup ln log max min Pr " +
    "sec sin sinh sup tan tanh"
  ).split(" "),
);

/** Invisible operators of MathML: function application, times, separator, plus. */
const unseen = /[\u2061-\u2064\u200b\ufeff]/gu;

/** Returns the TeX of a token's text, character by character. */
export function texOf(text: string): string {
  let tex = "";
  let last = "";
  for (const char of text.replaceAll(unseen, "")) {
    const command = commands.get(char) ?? special(char);
    // The name of a command ends at the first character that is not a letter.
    const isGlued = /^[a-z]/iu.test(command) && /^\\[a-z]+$/iu.test(last);
    tex += isGlued ? ` ${command}` : command;
    last = command;
  }
  return tex;
}

/** Returns a text as it stands in `\text{…}`. */
export function plainTex(text: string): string {
  return text.replaceAll(/[\\{}$&#_%^~]/gu, (char) => special(char));
}

function special(char: string): string {
  switch (char) {
    case "−":
    case "‐":
      return "-";
    case "\u00a0":
      return " ";
    case "\\":
      return "\\backslash ";
    case "^":
      return "\\hat{}";
    case "~":
      return "\\sim ";
    default:
      return /[{}$&#_%]/u.test(char) ? `\\${char}` : char;
  }
}
