import type { LongTask } from "../../../ports.ts";
import { type GlobPart, matchGlob, WILDCARDS } from "../../../net/glob.ts";

/** The name by which robots.txt files speak to these crawls. */
export const CRAWLER = "CauseyCrawler";

/** The rules of a robots.txt for one crawler. */
export type Robots = {
  /** In their order. */
  readonly rules: readonly RobotsRule[];
  /** Seconds between two requests; null where it says nothing. */
  readonly delay: number | null;
  /** Addresses of sitemaps, as they stand there. */
  readonly sitemaps: readonly string[];
  /** The permitted uses of the contents (`Content-Signal`): names and values in lower case. */
  readonly signals: Readonly<Record<string, string>>;
};

/** Whether the addresses that a pattern matches may be read. */
export type RobotsRule = { readonly allow: boolean; readonly pattern: string };

/** Bytes of a robots.txt that count (RFC 9309, section 2.5). */
export const ROBOTS_LIMIT: number = 500 * 1024;

/** Rules of a crawler, sitemaps and characters of a pattern that count. */
const RULES = 5000;
const SITEMAPS = 20;
const PATTERN = 2048;
/** Characters of a `Content-Signal`. */
const SIGNAL = 256;
/** Seconds between two requests that a site may ask for. */
const DELAY = 3600;
/** Lines that are read between two yields. */
const STEP = 200;

/** {@link parseRobots} beside the event loop. */
export const readRobots: LongTask<{ readonly bytes: Uint8Array }, Robots> = {
  name: "rendering/robots",
  load: () =>
    Promise.resolve(({ bytes }) =>
      parseRobots(new TextDecoder().decode(bytes.subarray(0, ROBOTS_LIMIT))),
    ),
};

interface Group {
  rules: RobotsRule[];
  delay: number | null;
  signals: Record<string, string>;
}

/**
 * Reads a robots.txt (RFC 9309) for our crawler: the groups that name it, together, else those of `*`. Never throws;
 * unknown lines are ignored.
 */
export function* parseRobots(text: string): Generator<void, Robots> {
  const named: Group = { rules: [], delay: null, signals: {} };
  const general: Group = { rules: [], delay: null, signals: {} };
  let isNamed = false;
  let current: Group[] = [];
  let isHead = false;
  let count = 0;
  const sitemaps: string[] = [];
  for (const line of text.split(/\r\n|\r|\n/u)) {
    if (++count % STEP === 0) yield;
    const [field, value] = fieldOf(line);
    if (field === "user-agent") {
      // Lines in a row head one group.
      if (!isHead) current = [];
      isHead = true;
      const agent = /^[a-z_-]+/iu.exec(value)?.[0].toLowerCase();
      if (agent === CRAWLER.toLowerCase()) {
        current.push(named);
        isNamed = true;
      } else if (value === "*") current.push(general);
    } else if (field === "sitemap") {
      if (sitemaps.length < SITEMAPS && value !== "") sitemaps.push(value.slice(0, PATTERN));
    } else if (field !== "") {
      isHead = false;
      for (const group of current) add(group, field, value);
    }
  }
  return { ...(isNamed ? named : general), sitemaps };
}

function fieldOf(line: string): [field: string, value: string] {
  const said = line.replace(/^\u{feff}/u, "").replace(/#.*$/su, "");
  const colon = said.indexOf(":");
  if (colon === -1) return ["", ""];
  return [said.slice(0, colon).trim().toLowerCase(), said.slice(colon + 1).trim()];
}

function add(group: Group, field: string, value: string): void {
  if (field === "allow" || field === "disallow") {
    // An empty one says nothing.
    if (value === "" || group.rules.length >= RULES) return;
    group.rules.push({ allow: field === "allow", pattern: normalEscapes(value.slice(0, PATTERN)) });
  } else if (field === "crawl-delay") {
    const seconds = Number(value);
    if (value !== "" && seconds >= 0) group.delay = Math.min(seconds, DELAY);
  } else if (field === "content-signal") {
    for (const [, name = "", said = ""] of value
      .slice(0, SIGNAL)
      .matchAll(/([\w-]+)\s*=\s*([\w-]+)/gu))
      group.signals[name.toLowerCase()] = said.toLowerCase();
  }
}

/**
 * Whether a crawler may read an address: the longest pattern that matches decides, and of two as long the one that
 * allows (RFC 9309, section 2.2.2).
 */
export function mayRead({ rules }: Robots, url: URL): boolean {
  const path = normalEscapes(url.pathname + url.search);
  if (url.pathname === "/robots.txt") return true;
  let best: RobotsRule | null = null;
  for (const rule of rules) {
    const length = best?.pattern.length ?? -1;
    const isBetter = rule.allow ? rule.pattern.length >= length : rule.pattern.length > length;
    if (isBetter && matches(rule, path)) best = rule;
  }
  return best?.allow ?? true;
}

function matches({ allow, pattern }: RobotsRule, path: string): boolean {
  if (!/[*$]/u.test(pattern)) return path.startsWith(pattern);
  const isWhole = pattern.endsWith("$");
  const texts = (isWhole ? pattern.slice(0, -1) : pattern).split(/\*+/u);
  const isCut = texts.length > WILDCARDS;
  // No author needs so many. The pattern is cut: as a rule that forbids, it then matches more than was meant; as one that
  // allows, it is ignored.
  if (isCut && allow) return false;
  const parts: GlobPart[] = texts
    .slice(0, WILDCARDS)
    .flatMap((text, index) => (index === 0 ? [text] : [{ crosses: true }, text]));
  if (!isWhole || isCut) parts.push({ crosses: true });
  return matchGlob(parts, path);
}

/** Normalises characters that can be written in several ways (RFC 9309, section 2.2.2). */
export function normalEscapes(path: string): string {
  const ascii = path.replaceAll(/[^\x21-\x7e]+/gu, (text) => encodeURIComponent(wellFormed(text)));
  return ascii.replaceAll(/%[0-9a-f]{2}/giu, (escape) => {
    const char = String.fromCodePoint(Number.parseInt(escape.slice(1), 16));
    return /[\w.~-]/u.test(char) ? char : escape.toUpperCase();
  });
}

/** Half a surrogate pair has no encoding. */
function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, "\u{fffd}");
}

/** How much of a page a crawl's purpose takes, from least to most. */
const uses = ["immediate", "reference", "full"];

/** Whether the site's `Content-Signal` lets its contents be used for all of these purposes, at this level. */
export function allowsUse(
  { signals }: Robots,
  { purposes, use }: { readonly purposes: readonly string[]; readonly use: string },
): boolean {
  if (purposes.some((purpose) => signals[purpose] === "no")) return false;
  const most = uses.indexOf(signals["use"] ?? "full");
  return most === -1 || uses.indexOf(use) <= most;
}
