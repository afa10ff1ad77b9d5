import { isObject } from "../../http/json.ts";
import type { PageDescription } from "./page-description.ts";

type Node = Readonly<Record<string, unknown>>;

/** Nodes that are looked at, and how deep. */
const NODES = 2000;
const DEPTH = 6;
const AUTHORS = 20;

/** Types of schema.org that are a page's text, the best first: a page has its text, and that may be about something. */
const texts = [
  /(?:Article|BlogPosting|Report|Recipe|HowTo|VideoObject|DiscussionForumPosting)$/u,
  /(?:WebPage|FAQPage|QAPage|ItemPage|AboutPage|CollectionPage|Product)$/u,
];

/** Reads a script of JSON-LD; nothing where it is not JSON. */
export function factsOfData(json: string): PageDescription {
  const nodes: Node[] = [];
  const byId = new Map<string, Node>();
  collect(parsed(json), 0, nodes);
  for (const node of nodes) {
    const id = node["@id"];
    // A mere reference has nothing else.
    if (typeof id === "string" && Object.keys(node).length > 1 && !byId.has(id)) byId.set(id, node);
  }
  const resolved = (value: unknown): unknown => {
    const id = isObject(value) && Object.keys(value).length === 1 ? value["@id"] : undefined;
    return typeof id === "string" ? byId.get(id) : value;
  };
  const ranked = texts.map((type) => nodes.find((node) => isOfType(node, type)));
  const first = (name: string): unknown =>
    ranked.find((node) => node?.[name] !== undefined)?.[name];
  const site = nodes.find((node) => isOfType(node, /^WebSite$/u));
  const names = listOf(first("author") ?? first("creator"))
    .slice(0, AUTHORS)
    .map((one) => textOf(resolved(one), "name"))
    .filter((name) => name !== undefined);
  const publisher = textOf(resolved(listOf(first("publisher"))[0]), "name");
  return withoutGaps({
    author: names.length === 0 ? undefined : [...new Set(names)].join(", "),
    publishedTime: textOf(first("datePublished")),
    modifiedTime: textOf(first("dateModified")),
    language: textOf(listOf(first("inLanguage"))[0], "alternateName"),
    siteName: textOf(site, "name") ?? publisher,
    image: textOf(resolved(listOf(first("image"))[0]), "url", "contentUrl"),
    description: textOf(first("description")),
  });
}

function parsed(json: string): unknown {
  try {
    // Line breaks in strings are a mistake that browsers and search engines let pass.
    return JSON.parse(json.replaceAll(/[\t\n\r]+/gu, " "));
  } catch {
    return null;
  }
}

function collect(value: unknown, depth: number, nodes: Node[]): void {
  if (depth > DEPTH || nodes.length >= NODES) return;
  if (Array.isArray(value)) for (const one of value) collect(one, depth + 1, nodes);
  else if (isObject(value)) {
    nodes.push(value);
    for (const one of Object.values(value)) collect(one, depth + 1, nodes);
  }
}

function isOfType(node: Node, type: RegExp): boolean {
  return listOf(node["@type"]).some((name) => typeof name === "string" && type.test(name));
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}

/** A text, or that of the first of a node's members. */
function textOf(value: unknown, ...members: readonly string[]): string | undefined {
  if (typeof value === "string") return value;
  if (!isObject(value)) return undefined;
  for (const name of members) {
    const [text] = listOf(value[name]);
    if (typeof text === "string") return text;
  }
  return undefined;
}

function withoutGaps(facts: {
  readonly [Name in keyof PageDescription]: string | undefined;
}): PageDescription {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}
