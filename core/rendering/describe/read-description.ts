import { isVoid, type Attributes, type HtmlHandler } from "../markdown/html-events.ts";
import { absolute } from "../markdown/urls.ts";
import { isoTime } from "./iso-time.ts";
import { factsOfData } from "./linked-data.ts";
import type { PageDescription } from "./page-description.ts";

type Field = keyof PageDescription;

/** Names of `meta`, in lower case, the best first: Open Graph, Dublin Core, Highwire, Parse.ly, Sailthru. */
const metaNames: Readonly<Record<Field, readonly string[]>> = {
  author: [
    ..."author article:author dc.creator dcterms.creator citation_author parsely-author".split(" "),
    ..."sailthru.author byl twitter:creator:name".split(" "),
  ],
  publishedTime: [
    ..."article:published_time og:published_time datepublished dcterms.issued dcterms.created".split(
      " ",
    ),
    ..."dc.date.issued dc.date citation_publication_date citation_date parsely-pub-date".split(" "),
    ..."sailthru.date publish-date publish_date pubdate publication_date date".split(" "),
  ],
  modifiedTime: [
    "article:modified_time",
    "og:updated_time",
    "dcterms.modified",
    "datemodified",
    "last-modified",
  ],
  language: ["content-language", "dc.language", "og:locale"],
  siteName: ["og:site_name", "application-name", "twitter:site:name"],
  image: [
    "og:image",
    "og:image:url",
    "og:image:secure_url",
    "twitter:image",
    "twitter:image:src",
    "parsely-image-url",
  ],
  description: ["og:description", "description", "twitter:description", "dc.description"],
};

const fieldOfMeta = new Map(
  Object.entries(metaNames).flatMap(([field, names]) =>
    names.map((name, rank) => [name, { field: field as Field, rank }] as const),
  ),
);

/** Classes that themes and publishers give to the line with the author's name. */
const BYLINE =
  /(?:^|[\s_-])(?:byline|author[\s_-]?name|post[\s_-]author|entry[\s_-]author|article[\s_-]author|p-author)(?:$|[\s_-])/iu;
const DATELINE =
  /(?:^|[\s_-])(?:published|pub[\s_-]?date|publish(?:ed)?[\s_-](?:date|on)|post[\s_-]date|entry[\s_-]date|article[\s_-]date|date[\s_-]published)(?:$|[\s_-])/iu;

/** Characters of a value, of an author's names, and of linked data that is looked at. */
const VALUE = 2000;
const NAMES = 200;
const DATA = 500_000;

/** The order in which sources count; a lower one wins. Within one of them the first value counts. */
const source = { data: 0, meta: 10, itemprop: 100, rel: 110, shown: 120, guess: 130 };

interface Reading {
  readonly handler: HtmlHandler;
  readonly description: () => PageDescription;
}

/** Reads what a document says about itself: JSON-LD, `meta`, microdata, `rel="author"`, and the lines that readers see. */
export function descriptionReader(url: string | null): Reading {
  const found = new Map<Field, { readonly rank: number; readonly value: string }>();
  let base = url;
  const text = elementText();
  const note: Note = (field, rank, given) => {
    const value = cleaned[field](given?.slice(0, VALUE).replaceAll(/\s+/gu, " ").trim() ?? "");
    if (value !== "" && rank < (found.get(field)?.rank ?? Infinity))
      found.set(field, { rank, value });
  };
  const noteData = (json: string): void => {
    for (const [field, value] of Object.entries(factsOfData(json)))
      note(field as Field, source.data, value);
  };
  return {
    description() {
      const entries = [...found].map(([field, { value }]) => [field, value] as const);
      const all: PageDescription = Object.fromEntries(entries);
      return all.image === undefined ? all : { ...all, image: absolute(all.image, base) };
    },
    handler: {
      open(name, attributes) {
        text.open(name, attributes);
        const { href, type = "" } = attributes;
        if (name === "base" && href !== undefined) base = absolute(href, url);
        else if (name === "script" && /^application\/ld\+json\b/iu.test(type))
          text.begin(name, DATA, noteData);
        else if (!noteHead(name, attributes, note)) noteShown(name, attributes, note, text);
      },
      close: (name) => text.close(name),
      text: (piece) => text.add(piece),
    },
  };
}

/** The text of one element at a time. */
interface ElementText {
  open(name: string, attributes: Attributes): void;
  close(name: string): void;
  add(text: string): void;
  /** Hands the text of the element that opens to `done` when it closes, up to `limit` characters, unless another one is read. */
  begin(name: string, limit: number, done: (text: string) => void): void;
  /** Whether the place is in a review of somebody. */
  readonly isInReview: boolean;
}

/** An open element, and how many of its name are open in it. */
interface OpenElement {
  readonly name: string;
  depth: number;
}

function elementText(): ElementText {
  let read: (OpenElement & { limit: number; text: string; done: (text: string) => void }) | null =
    null;
  let review: OpenElement | null = null;
  return {
    open(name, attributes) {
      if (name === read?.name) read.depth += 1;
      if (name === review?.name) review.depth += 1;
      if (isVoid(name)) return;
      // The name of an author is a part of what the page says about the author.
      if (read !== null && hasWord(attributes["itemprop"], "name"))
        read = { ...read, name, depth: 0, text: "" };
      if (review === null && isReview(attributes)) review = { name, depth: 0 };
    },
    close(name) {
      if (name === review?.name && review.depth-- === 0) review = null;
      if (name !== read?.name || read.depth-- > 0) return;
      const { done, text } = read;
      read = null;
      done(text);
    },
    add(text) {
      if (read !== null && read.text.length < read.limit) read.text += text;
    },
    begin(name, limit, done) {
      if (!isVoid(name)) read ??= { name, depth: 0, limit, text: "", done };
    },
    get isInReview() {
      return review !== null;
    },
  };
}

type Note = (field: Field, rank: number, value: string | undefined) => void;

function noteMeta(attributes: Attributes, note: Note): void {
  const { name, property, itemprop, content, "http-equiv": header } = attributes;
  for (const key of [property, name, header]) {
    // One element may have several properties.
    for (const word of (key ?? "").toLowerCase().split(/\s+/u)) {
      const known = fieldOfMeta.get(word);
      if (known !== undefined) note(known.field, source.meta + known.rank, content);
    }
  }
  noteProperty(itemprop, content, note);
}

/** Properties of schema.org in microdata. */
const properties: Readonly<Record<string, Field>> = {
  author: "author",
  datePublished: "publishedTime",
  dateModified: "modifiedTime",
  inLanguage: "language",
  image: "image",
};

function noteProperty(names: string | undefined, value: string | undefined, note: Note): void {
  for (const name of (names ?? "").split(/\s+/u)) {
    const field = properties[name];
    if (field !== undefined) note(field, source.itemprop, value);
  }
}

/** Whether an element is a review, whose author is not that of the page. */
function isReview({ itemprop, itemtype = "" }: Attributes): boolean {
  return (
    hasWord(itemprop, "review") || hasWord(itemprop, "reviews") || itemtype.endsWith("/Review")
  );
}

function hasWord(words: string | undefined, word: string): boolean {
  return words?.split(/\s+/u).includes(word) === true;
}

/** Notes what an element says to machines alone; false for any other element. */
function noteHead(name: string, attributes: Attributes, note: Note): boolean {
  const { lang, rel = "", href } = attributes;
  if (name === "html") note("language", source.meta - 1, lang);
  else if (name === "meta") noteMeta(attributes, note);
  else if (name === "link") note("image", source.rel, /^image_src$/iu.test(rel) ? href : "");
  else return false;
  return true;
}

/** Notes what an element of the page's body says to readers. */
function noteShown(name: string, attributes: Attributes, note: Note, text: ElementText): void {
  if (text.isInReview) return;
  const { itemprop, rel, class: classes = "", datetime, src } = attributes;
  if (itemprop !== undefined)
    noteProperty(itemprop, attributes["content"] ?? datetime ?? (name === "img" ? src : ""), note);
  const author = (rank: number): void =>
    text.begin(name, NAMES * 2, (found) => note("author", rank, found));
  if (hasWord(itemprop, "author")) author(source.itemprop);
  else if (hasWord(rel, "author") && name === "a") author(source.rel);
  else if (BYLINE.test(classes)) author(source.shown);
  else if (name === "time" && datetime !== undefined) note("publishedTime", source.shown, datetime);
  else if (DATELINE.test(classes))
    text.begin(name, NAMES, (found) => note("publishedTime", source.guess, found));
}

/** Reduce a value to what it says; to nothing where that is something else. */
const cleaned: Readonly<Record<Field, (value: string) => string>> = {
  author: authorOf,
  publishedTime: isoTime,
  modifiedTime: isoTime,
  language: (value) => {
    const tag = value.split(",", 1)[0]?.trim().replaceAll("_", "-") ?? "";
    return /^[a-z]{2,3}(?:-[a-z\d]{2,8}){0,3}$/iu.test(tag) ? tag : "";
  },
  siteName: (value) => value,
  image: (value) => (/^(?:data|blob|javascript):/iu.test(value) ? "" : value),
  description: (value) => value,
};

/** Leaves out addresses and sentences, which are not names. */
function authorOf(value: string): string {
  const name = value
    .replace(/^(?:(?:written|posted|published|words) )?by:? /iu, "")
    .replace(/^(?:by|author):? ?/iu, "")
    .replace(/\s*[|•·–—].*$/u, "")
    .trim();
  const isOther = /^(?:https?:|www\.|@|null$|undefined$)|[»›<>{}]/iu.test(name);
  const isName = name.length <= NAMES && /\p{L}/u.test(name) && !isOther;
  return isName ? name : "";
}
