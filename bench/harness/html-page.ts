/** The main content of a generated page. */
export type PageKind = "article" | "links" | "scripts" | "tables";

/** Draws from 0 to `limit - 1`; the same sequence for the same seed (mulberry32). */
function random(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % limit;
  };
}

const words =
  "the of runtime a to gateway and request in stream that page is with search agent on for event as index model was by cache retry are token from signed this at which have an were document be one their not each other worker when queue more been will state people only about time".split(
    " ",
  );
const entities = ["&amp;", "&nbsp;", "&mdash;", "&#8217;", "&quot;", "&lt;"];

/** A page of about `size` characters with the furniture of a real one: head, styles, scripts, navigation, footer. */
export function htmlPage(kind: PageKind, size: number, seed: number): string {
  const draw = random(seed);
  const pick = <T>(list: readonly T[]): T => list[draw(list.length)]!;
  const text = (count: number): string =>
    Array.from({ length: count }, () => (draw(40) === 0 ? pick(entities) : pick(words))).join(" ");
  const link = (): string =>
    `<a class="link link--${draw(9)}" href="/${pick(words)}/${draw(9999)}?ref=${pick(words)}&amp;n=${draw(99)}" title="${text(3)}">${text(1 + draw(4))}</a>`;
  const inline = (): string => {
    const kinds = [
      () => `<strong>${text(2)}</strong>`,
      () => `<em>${text(3)}</em>`,
      () => `<code>${pick(words)}(${pick(words)})</code>`,
      () => `<span class="x">${text(2)}</span><br>`,
      link,
    ];
    return pick(kinds)();
  };
  const paragraph = (): string =>
    `<p class="p">\n    ${Array.from({ length: 2 + draw(5) }, () => `${text(8 + draw(20))} ${inline()}`).join(", ")}.\n  </p>`;
  const list = (): string =>
    `<${pick(["ul", "ol"])} class="list">${Array.from({ length: 3 + draw(9) }, () => `\n    <li>${text(6)} ${draw(3) === 0 ? `<ul><li>${link()}</li></ul>` : inline()}</li>`).join("")}\n  </ul>`;
  const table = (rows: number): string =>
    `<table><thead><tr>${`<th scope="col">${pick(words)}</th>`.repeat(5)}</tr></thead><tbody>${Array.from({ length: rows }, () => `\n    <tr>${Array.from({ length: 5 }, () => `<td>${text(3)}</td>`).join("")}</tr>`).join("")}</tbody></table>`;
  const code = (): string =>
    `<pre><code class="language-js">${Array.from({ length: 6 }, () => `const ${pick(words)} = await ${pick(words)}(&quot;${text(2)}&quot;);\n`).join("")}</code></pre>`;
  const figure = (): string =>
    `<figure><img src="/img/${draw(9999)}.webp" alt="${text(5)}" width="640" height="360"><figcaption>${text(8)}</figcaption></figure>`;
  const section = (): string =>
    `<section><h2 id="s${draw(9999)}">${text(4)}</h2>${paragraph()}${paragraph()}<h3>${text(3)}</h3>${paragraph()}${list()}${pick([code, figure, () => table(6), () => `<blockquote>${paragraph()}</blockquote>`])()}</section>`;
  const cards = (): string =>
    `<div class="grid">${Array.from({ length: 12 }, () => `<div class="card"><div class="card__in"><h3>${link()}</h3><p>${text(9)} ${link()} ${link()}</p></div></div>`).join("\n")}</div>`;
  const script = (): string =>
    `<script>window.__data=${JSON.stringify(Array.from({ length: 60 }, () => ({ id: draw(99_999), t: text(9) })))};</script>${draw(6) === 0 ? paragraph() : ""}`;

  const parts: Record<PageKind, () => string> = {
    article: section,
    links: cards,
    scripts: script,
    tables: () => `<h2>${text(3)}</h2>${table(40)}`,
  };
  const out = [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${text(5)}</title><meta name="description" content="${text(12)}">`,
    `<style>${".card{margin:0;padding:1rem;display:grid}\n".repeat(120)}</style><script>${"var q=[];function gtag(){q.push(arguments)}\n".repeat(60)}</script></head><body>`,
    `<nav><ul>${Array.from({ length: 60 }, () => `<li>${link()}</li>`).join("")}</ul></nav><main><h1>${text(5)}</h1>`,
  ];
  let length = out.join("").length;
  while (length < size) {
    const part = `${parts[kind]()}\n`;
    out.push(part);
    length += part.length;
  }
  out.push(`</main><footer>${Array.from({ length: 30 }, link).join(" | ")}</footer></body></html>`);
  return out.join("");
}
