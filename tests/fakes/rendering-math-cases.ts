import type { MarkdownCase } from "./rendering-markdown-cases.ts";

const rows = (content: string): string => `<math>${content}</math>`;
const table =
  "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn></mtd><mtd><mn>4</mn></mtd></mtr></mtable>";

/** The TeX of formulas in MathML. */
const formulas: readonly (readonly [name: string, mathml: string, tex: string])[] = [
  ["a fraction", "<mfrac><mn>1</mn><mn>2</mn></mfrac>", String.raw`\frac{1}{2}`],
  ["a power", "<msup><mi>x</mi><mn>2</mn></msup>", "x^{2}"],
  [
    "powers and indices of groups",
    "<msup><mrow><mi>a</mi><mi>b</mi></mrow><mn>2</mn></msup><msubsup><mi>x</mi><mi>i</mi><mn>3</mn></msubsup><msup><mi>f</mi><mo>′</mo></msup>",
    "{ab}^{2}x_{i}^{3}f'",
  ],
  [
    "roots",
    "<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt><mroot><mi>y</mi><mn>3</mn></mroot>",
    String.raw`\sqrt{x + 1} \sqrt[3]{y}`,
  ],
  [
    "sums, integrals and limits",
    "<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><msub><mi>x</mi><mi>i</mi></msub><munder><mo>lim</mo><mrow><mi>n</mi><mo>→</mo><mi>∞</mi></mrow></munder>",
    String.raw`\sum_{i = 1}^{n}x_{i} \lim_{n \to \infty}`,
  ],
  [
    "a matrix",
    `<mo>(</mo>${table}<mo>)</mo>`,
    String.raw`\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}`,
  ],
  [
    "a matrix in a fence",
    `<mfenced open="[" close="]">${table}</mfenced>`,
    String.raw`\begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}`,
  ],
  ["cases", `<mo>{</mo>${table}`, String.raw`\begin{cases} 1 & 2 \\ 3 & 4 \end{cases}`],
  [
    "letters, relations and functions",
    "<mi>α</mi><mo>≤</mo><mi>sin</mi><mo>&#x2061;</mo><mi>β</mi><mo>−</mo><mi>ℝ</mi>",
    String.raw`\alpha \leq \sin \beta - \mathbb{R}`,
  ],
  [
    "text and what TeX would read as a command",
    "<mtext>if 5% </mtext><mi>a_b</mi><mo>{</mo><mi mathvariant=bold>v</mi>",
    String.raw`\text{if 5\% }a\_b\{\mathbf{v}`,
  ],
  [
    "accents and braces",
    "<mover><mi>v</mi><mo>→</mo></mover><mover><mi>x</mi><mo>^</mo></mover><mover><mrow><mi>A</mi><mi>B</mi></mrow><mo>¯</mo></mover>",
    String.raw`\vec{v} \hat{x} \overline{AB}`,
  ],
  [
    "tall brackets",
    "<msup><mrow><mo>(</mo><mfrac><mn>1</mn><mn>2</mn></mfrac><mo>)</mo></mrow><mi>n</mi></msup>",
    String.raw`\left( \frac{1}{2} \right)^{n}`,
  ],
  [
    "indices on the left",
    "<mmultiscripts><mi>C</mi><mn>6</mn><none/><mprescripts/><none/><mn>14</mn></mmultiscripts>",
    "{}^{14}C_{6}",
  ],
  [
    "another annotation than TeX",
    '<semantics><mi>a</mi><annotation encoding="StarMath 5.0">{a}</annotation><annotation-xml><ci>b</ci></annotation-xml></semantics>',
    "a",
  ],
];

/** Formulas as generators write them: each once. */
const generators: readonly MarkdownCase[] = [
  {
    name: "MathJax 2, with the source in a script",
    html: '<p>a <span class="MathJax_Preview">[x]</span><span class="MathJax" id="MathJax-Element-1-Frame"><nobr aria-hidden="true">x2</nobr><span class="MJX_Assistive_MathML"><math><msup><mi>x</mi><mn>2</mn></msup></math></span></span><script type="math/tex" id="MathJax-Element-1">x^2</script>.<div class="MathJax_Display"><span class="MathJax" id="MathJax-Element-2-Frame"><nobr aria-hidden="true">y</nobr></span></div><script type="math/tex; mode=display" id="MathJax-Element-2">y</script>',
    markdown: "a $x^2$.\n\n$$y$$",
  },
  {
    name: "MathJax 2 on a page whose scripts are gone",
    html: '<span class="MathJax" id="MathJax-Element-1-Frame"><nobr aria-hidden="true">x2</nobr><span class="MJX_Assistive_MathML"><math><msup><mi>x</mi><mn>2</mn></msup></math></span></span>',
    markdown: "$x^{2}$",
  },
  {
    name: "formulas side by side are apart",
    html: '<p><math><mi>x</mi></math><math><mi>y</mi></math>, <math display="block"><mi>z</mi></math><math display="block"><mi>w</mi></math>',
    markdown: "$x$ $y$, $$z$$ $$w$$",
  },
  {
    name: "MathJax 2 with MathML in a script",
    html: '<script type="math/mml"><math display="block"><mfrac><mn>1</mn><mn>2</mn></mfrac></math></script>',
    markdown: String.raw`$$\frac{1}{2}$$`,
  },
  {
    name: "MathJax 3",
    html: '<mjx-container class="MathJax" jax="CHTML"><mjx-math class="MJX-TEX" aria-hidden="true"><mjx-c>x</mjx-c></mjx-math><mjx-assistive-mml><math display="block"><msup><mi>x</mi><mn>2</mn></msup></math></mjx-assistive-mml></mjx-container>',
    markdown: "$$x^{2}$$",
  },
  {
    name: "MediaWiki and WordPress",
    html: '<span style="display: none"><math><mi>x</mi></math></span><img src="x.svg" class="mwe-math-fallback-image-inline" alt="\\frac{1}{x}"> <img class="latex" src="y.png" alt="y^2"><img class="latex" src="z.png">',
    markdown: String.raw`$\frac{1}{x}$ $y^2$![](https://example.com/dir/z.png)`,
  },
  {
    name: "a formula that is too deep is its text",
    html: `<math><mi>y</mi>${"<msqrt>".repeat(490)}<mi>x</mi></math>`,
    markdown: "yx",
  },
];

/** What formulas become in Markdown. */
export const mathCases: readonly MarkdownCase[] = [
  ...formulas.map(([name, mathml, tex]) => ({
    name: `${name} in MathML`,
    html: rows(mathml),
    markdown: `$${tex}$`,
  })),
  ...generators,
];
