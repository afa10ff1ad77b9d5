// What Markdown keeps: `npm run bench -- markdown-fidelity ARTICLES PAGES`. The examples of CommonMark go through HTML and back;
// both folders are of real pages and may be left out. ARTICLES holds `ground-truth.json` and
// `html/<id>.html.gz` (the text of each article); PAGES a folder for each page with its `source.html.gz`. Measured are the
// words of the document that the Markdown has, text of scripts that leaked, relative addresses that are left, and the F1 of
// the main content (shingles of four words, as public benchmarks of extraction do). No time is measured.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { DOMParser } from "linkedom/worker";
import { mainContentOf } from "../core/rendering/extract/main-content.ts";
import { convertHtml } from "../core/rendering/markdown/convert.ts";
import { type Figure, once } from "./harness/figure.ts";
import type { Options } from "./harness/options.ts";
import { roundTrip } from "./harness/round-trip.ts";

/** `SHOW_LOST=1` names what was lost, and where. */
const isShown = process.env["SHOW_LOST"] !== undefined;

/** Runs `markdown-fidelity`. */
export async function* bench({ rest: [articles, pages] }: Options): AsyncGenerator<Figure[]> {
  const examples = roundTrip(isShown);
  if (examples !== undefined) yield [examples];
  const truths = articles === undefined ? [] : readArticles(articles);
  const sources = [...truths, ...(pages === undefined ? [] : readPages(pages))];
  if (sources.length === 0) {
    process.stdout.write(
      "markdown-fidelity: name the folders of articles and pages to measure real pages\n",
    );
    return;
  }
  yield [wholePages(sources)];
  if (truths.length > 0) yield [mainContent(truths)];
}

/** A page. */
interface Page {
  readonly name: string;
  readonly html: string;
}

/** A page whose article is known. */
interface Article extends Page {
  readonly body: string;
}

function unpacked(file: string): string {
  return new TextDecoder().decode(gunzipSync(readFileSync(file)));
}

function readArticles(folder: string): Article[] {
  const file = join(folder, "ground-truth.json");
  if (!existsSync(file)) return [];
  const truth: Readonly<Record<string, { articleBody: string }>> = JSON.parse(
    readFileSync(file, "utf8"),
  );
  return Object.entries(truth).flatMap(([name, { articleBody: body }]) => {
    const source = join(folder, "html", `${name}.html.gz`);
    return existsSync(source) ? [{ name, body, html: unpacked(source) }] : [];
  });
}

function readPages(folder: string): Page[] {
  return readdirSync(folder).flatMap((name) => {
    const source = join(folder, name, "source.html.gz");
    return existsSync(source) ? [{ name, html: unpacked(source) }] : [];
  });
}

const BASE = "https://base.example/a/";

function wholePages(pages: readonly Page[]): Figure {
  let words = 0;
  let lost = 0;
  let leaked = 0;
  let relative = 0;
  for (const { name, html } of pages) {
    const { markdown } = convertHtml(html, { base: BASE, frontmatter: false });
    const { seen, scripts } = textsOf(html);
    const found = counted(wordsOf(plain(markdown)));
    // Two elements beside each other are one word or two: what is there without its spaces is not lost.
    const joined = wordsOf(readText(markdown)).join("");
    const missing = missingOf(seen, found).filter((word) => !joined.includes(word));
    words += seen.length;
    lost += missing.length;
    if (isShown && missing.length > 0)
      process.stdout.write(
        `${name}: ${missing.length} of ${seen.length}: ${missing.slice(0, 12).join(" ")}\n`,
      );
    // Data in scripts repeats what the page says.
    const said = seen.join("");
    const scriptLines = scripts.filter(
      (line) => markdown.includes(line) && !said.includes(wordsOf(line).join("")),
    );
    if (isShown && scriptLines.length > 0) process.stdout.write(`${name}: ${scriptLines[0]}\n`);
    leaked += scriptLines.length;
    relative += [...markdown.matchAll(/\]\((?<url>[^\s)]+)/gu)].filter(
      ({ groups }) => !/^(?:[a-z][a-z\d+.-]*:|<)/iu.test(groups?.["url"] ?? ""),
    ).length;
  }
  const figures = {
    pages: pages.length,
    words,
    recall: 1 - lost / words,
    "lost per 10000 words": (lost / words) * 10_000,
    "scripts leaked": leaked,
    "relative addresses": relative,
  };
  return once("markdown-fidelity: whole pages", "causey", figures, [
    { what: "lost per 10000 words", atMost: 1 },
    { what: "scripts leaked", atMost: 0 },
    { what: "relative addresses", atMost: 0 },
  ]);
}

/** The words that a reader sees, and lines of scripts that nobody should. */
function textsOf(html: string): { readonly seen: string[]; readonly scripts: string[] } {
  const document = new DOMParser().parseFromString(html, "text/html");
  const scripts = Array.from(
    document.querySelectorAll("script:not([src])"),
    ({ textContent }: DomNode) => String(textContent),
  ).flatMap((text) =>
    text
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line.length > 40),
  );
  for (const part of document.querySelectorAll(
    "head,script,style,noscript,template,iframe,svg,object,canvas,audio,video,textarea,select,math,dialog,[hidden],[style*='display:none'],[style*='display: none']",
  ))
    part.remove();
  const parts: string[] = [];
  const walk = (node: DomNode): void => {
    if (node.nodeType === 3) parts.push(String(node.textContent));
    if (node.nodeType !== 1) return;
    const isBlock = !inline.has(String(node.localName));
    if (isBlock) parts.push(" ");
    for (const child of node.childNodes) walk(child);
    if (isBlock) parts.push(" ");
  };
  walk(document.documentElement);
  return { seen: wordsOf(parts.join("")), scripts };
}

/** The used part of a node. */
interface DomNode {
  readonly nodeType: number;
  readonly localName?: string;
  readonly textContent: string | null;
  readonly childNodes: Iterable<DomNode>;
}

const inline = new Set(
  "a abbr b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q s samp small span strike strong sub sup time tt u var wbr".split(
    " ",
  ),
);

/** Markdown without its marks, as far as words are concerned. */
function plain(markdown: string): string {
  return markdown
    .replaceAll(/<\/?(?:sub|sup)>/gu, "")
    .replaceAll(/\\(?<sign>[\p{P}\p{S}])/gu, "$<sign>")
    .replaceAll(/\*+|~~|`+|\b_+|_+\b/gu, "");
}

/** What a reader sees of Markdown: a picture has no text, and a link has no address. */
function readText(markdown: string): string {
  const text = markdown
    .replaceAll(/!\[(?:[^\]\\]|\\.)*\]\((?:[^()\\]|\\.|\([^()]*\))*\)/gu, "")
    .replaceAll(/\]\((?:[^()\\]|\\.|\([^()]*\))*\)/gu, "]");
  return plain(text);
}

function wordsOf(text: string): string[] {
  return (
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

function counted(words: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

function missingOf(words: readonly string[], found: Map<string, number>): string[] {
  return words.filter((word) => {
    const left = found.get(word) ?? 0;
    found.set(word, left - 1);
    return left <= 0;
  });
}

function mainContent(articles: readonly Article[]): Figure {
  let precision = 0;
  let recall = 0;
  for (const { name, html, body } of articles) {
    let part = html;
    try {
      part = mainContentOf(html);
    } catch (error) {
      process.stdout.write(`${name}: ${String(error)}\n`);
    }
    const { markdown } = convertHtml(part, { base: BASE, frontmatter: false });
    const scores = shingleScores(body, readText(markdown));
    precision += scores.precision;
    recall += scores.recall;
    if (isShown && Math.min(scores.precision, scores.recall) < 0.9)
      process.stdout.write(
        `${name}: precision ${scores.precision.toFixed(2)}, recall ${scores.recall.toFixed(2)}\n`,
      );
  }
  precision /= articles.length;
  recall /= articles.length;
  const f1 = (2 * precision * recall) / (precision + recall);
  const figures = { pages: articles.length, precision, recall, F1: f1, "1 - F1": 1 - f1 };
  return once("markdown-fidelity: main content", "causey", figures, [
    { what: "1 - F1", atMost: 0.04 },
  ]);
}

function shingleScores(truth: string, found: string): { precision: number; recall: number } {
  const [wanted, given] = [shingles(truth), shingles(found)];
  let both = 0;
  for (const [shingle, count] of wanted) both += Math.min(count, given.get(shingle) ?? 0);
  const sum = (counts: ReadonlyMap<string, number>): number =>
    [...counts.values()].reduce((total, count) => total + count, 0);
  const [all, got] = [sum(wanted), sum(given)];
  return { precision: got === 0 ? 0 : both / got, recall: all === 0 ? 0 : both / all };
}

function shingles(text: string): Map<string, number> {
  const tokens = text.match(/[\p{L}\p{N}_]+/gu) ?? [];
  const size = Math.min(4, tokens.length);
  return counted(
    tokens.slice(0, tokens.length - size + 1).map((_, at) => tokens.slice(at, at + size).join(" ")),
  );
}
