// HTML to Markdown without a browser: causey's converter beside turndown with its GFM plugin on linkedom's DOM, and mdream, on
// generated pages of the sizes and kinds of real ones (the same on every run), then on hostile input, where the time
// of four times the input must stay below five times the time and 5 MB below 2 s. Building the converter is part of an operation.
import { convertHtml } from "../core/rendering/markdown/convert.ts";
import { type Figure, geometricMean } from "./harness/figure.ts";
import { compareFunctions, type FunctionContestant } from "./harness/functions.ts";
import { htmlPage, type PageKind } from "./harness/html-page.ts";
import type { Options } from "./harness/options.ts";
import { loadPeer } from "./harness/peers.ts";

type Convert = (html: string) => string;

const PEER = "turndown + linkedom";
const STREAMING = "mdream";
const OURS = "causey";

const pages: readonly (readonly [kind: PageKind, kilobytes: number])[] = [
  ["article", 70],
  ["article", 92],
  ["tables", 177],
  ["links", 238],
  ["article", 257],
  ["article", 301],
  ["links", 1012],
  ["scripts", 1133],
  ["article", 1592],
];

/** Hostile input of size n, and the largest size that the peer ends within seconds. */
const hostile: Readonly<
  Record<string, readonly [make: (n: number) => string, n: number, peer: number]>
> = {
  paragraphs: [(n) => "<p>word</p>".repeat(n), 8000, 8000],
  "list items": [(n) => `<ol>${"<li>word</li>".repeat(n)}</ol>`, 8000, 2000],
  "table rows": [
    (n) => `<table><tr><th>a<th>b</tr>${"<tr><td>a<td>b</tr>".repeat(n)}</table>`,
    4000,
    4000,
  ],
  "nested div": [(n) => `${"<div>".repeat(n)}x`, 12_500, 500],
  "unclosed b": [(n) => "<b>x ".repeat(n), 1000, 1000],
  "nested ul": [(n) => "<ul><li>x".repeat(n), 400, 400],
  spaces: [(n) => `<p>a${" ".repeat(n)}b`, 80_000, 80_000],
  backticks: [(n) => `<p><code>${"`".repeat(n)}</code>`, 40_000, 40_000],
};

/** Runs `markdown`. */
export async function* bench(options: Options): AsyncGenerator<Figure[]> {
  const { only = "" } = options;
  const peer = turndownOnLinkedom();
  const streaming = mdream();
  const figures: Figure[] = [];
  for (const [n, [kind, kilobytes]] of pages.entries()) {
    const title = `markdown: page of ${kilobytes} KB, ${kind}`;
    if (!title.includes(only)) continue;
    const html = htmlPage(kind, kilobytes * 1000, n + 1);
    const measured = await compareFunctions(title, fieldOf(html, peer, streaming), options);
    figures.push(...measured);
    yield measured;
  }
  if (figures.length > 2) yield means(figures);
  for (const [name, [make, n, peerLimit]] of Object.entries(hostile)) {
    const title = `markdown: hostile, ${name}`;
    if (!title.includes(only)) continue;
    const field = growth(make, n, peer, peerLimit);
    // Long operations: one or two a round are enough.
    const few = { rounds: Math.min(options.rounds, 3), ms: options.ms / 20 };
    yield await compareFunctions(title, field, few);
  }
}

function fieldOf(
  html: string,
  peer: Convert | undefined,
  streaming: Convert | undefined,
): FunctionContestant[] {
  const goals = [
    { of: PEER, atMost: 1 / 6 },
    { of: STREAMING, atMost: 1 / 2 },
  ];
  return [
    ...(peer === undefined ? [] : [{ name: PEER, run: () => peer(html) }]),
    ...(streaming === undefined ? [] : [{ name: STREAMING, run: () => streaming(html) }]),
    { name: OURS, goals, run: () => ourConvert(html) },
  ];
}

function growth(
  make: (n: number) => string,
  n: number,
  peer: Convert | undefined,
  peerLimit: number,
): FunctionContestant[] {
  // linkedom finds no body in a fragment.
  const page = (size: number): string => `<!doctype html><html><body>${make(size)}`;
  const [small, large, peers] = [page(n), page(4 * n), page(peerLimit)];
  const huge = page(Math.round((n * 5_000_000) / small.length));
  const name = (size: number): string => `${OURS}, n = ${size}`;
  const ours = [
    { name: name(n), run: () => ourConvert(small) },
    { name: name(4 * n), goals: [{ of: name(n), atMost: 5 }], run: () => ourConvert(large) },
    { name: `${OURS}, 5 MB`, goals: [{ atMost: 2_000_000 }], run: () => ourConvert(huge) },
  ];
  return peer === undefined
    ? ours
    : [...ours, { name: `${PEER}, n = ${peerLimit}`, run: () => peer(peers) }];
}

function ourConvert(html: string): string {
  return convertHtml(html, { base: "https://example.com/a/", frontmatter: false }).markdown;
}

/** Geometric means over the pages, by contestant. */
function means(figures: readonly Figure[]): Figure[] {
  return [...Map.groupBy(figures, ({ contestant }) => contestant).values()].flatMap(
    ([first, ...others]) =>
      first === undefined
        ? []
        : geometricMean(`markdown: geometric mean over ${others.length + 1} pages`, [
            first,
            ...others,
          ]),
  );
}

interface Linkedom {
  readonly HTMLElement: { readonly prototype: object };
  readonly parseHTML: (html: string) => { readonly document: { readonly body: unknown } };
}

type Turndown = new (options: object) => {
  readonly use: (plugin: unknown) => void;
  readonly remove: (names: readonly string[]) => void;
  readonly turndown: (body: unknown) => string;
};

/** mdream as its users call it. */
function mdream(): Convert | undefined {
  const found = loadPeer("@mdream/js") as Mdream | undefined;
  if (found === undefined) return undefined;
  return (html) => found.htmlToMarkdown(html, { origin: "https://example.com" });
}

interface Mdream {
  readonly htmlToMarkdown: (html: string, options: { readonly origin: string }) => string;
}

/** The peer as its users set it up. */
function turndownOnLinkedom(): Convert | undefined {
  const linkedom = loadPeer("linkedom") as Linkedom | undefined;
  const Service = loadPeer("turndown") as Turndown | undefined;
  const plugin = loadPeer("turndown-plugin-gfm") as { readonly gfm: unknown } | undefined;
  if (linkedom === undefined || Service === undefined || plugin === undefined) return undefined;
  // linkedom's elements have no `rows`, without which the plugin fails.
  Object.defineProperty(linkedom.HTMLElement.prototype, "rows", {
    get(this: ParentNode) {
      return this.querySelectorAll("tr");
    },
  });
  return (html) => {
    const { document } = linkedom.parseHTML(html);
    const service = new Service({ headingStyle: "atx", codeBlockStyle: "fenced" });
    service.use(plugin.gfm);
    service.remove(["script", "style"]);
    return service.turndown(document.body);
  };
}
