import { appendAll } from "../../text/append-all.ts";
import type { TextBudget } from "../../files/text-budget.ts";

/** The line of a cue that has its times (SubRip, and WebVTT section 4.1), with hours or without. */
const TIMES =
  /^\s*(?:(?<hours>\d{1,4}):)?(?<minutes>\d{1,2}):(?<seconds>\d{1,2})[.,]\d{1,3}\s*-->\s*(?:(?<toHours>\d{1,4}):)?(?<toMinutes>\d{1,2}):(?<toSeconds>\d{1,2})[.,]\d{1,3}/u;
/** Seconds without words after which a new paragraph begins. */
const PAUSE = 3;
const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["&amp;", "&"],
  ["&lt;", "<"],
  ["&gt;", ">"],
  ["&nbsp;", " "],
  ["&lrm;", ""],
  ["&rlm;", ""],
]);

/** Returns the words of subtitles (SubRip, WebVTT) in paragraphs, without numbers, times and styles. */
export function* subtitleText(source: string, budget: TextBudget): Generator<void, string, void> {
  const paragraphs: string[] = [];
  let lines: string[] = [];
  let end = -Infinity;
  for (const [n, block] of source.split(/\r?\n[^\S\n]*\r?\n/u).entries()) {
    if (n % 1000 === 999) yield;
    const cue = block.split(/\r?\n/u);
    const at = cue.findIndex((line) => TIMES.test(line));
    if (at < 0) {
      const said = aside(cue);
      budget.take(said.length);
      if (said !== "") paragraphs.push(said);
      continue;
    }
    const { from, to } = timesOf(cue[at] ?? "");
    const spoken = cue
      .slice(at + 1)
      .map(plain)
      .filter((line) => line !== "");
    budget.take(spoken.join(" ").length);
    if ((from - end >= PAUSE || isSpeaker(spoken[0])) && lines.length > 0) {
      paragraphs.push(lines.join(" "));
      lines = [];
    }
    // Captions that roll up say each line again.
    const before = lines.at(-1);
    appendAll(
      lines,
      spoken.filter((line) => line !== before),
    );
    end = to;
  }
  if (lines.length > 0) paragraphs.push(lines.join(" "));
  return paragraphs.join("\n\n");
}

/** A block without a cue: the header's title and notes are for readers, styles and regions are not. */
function aside(block: readonly string[]): string {
  const [first = "", ...rest] = block;
  if (/^\uFEFF?WEBVTT/u.test(first)) return first.replace(/^\uFEFF?WEBVTT[\s-]*/u, "").trim();
  if (/^(?:STYLE|REGION)\b/u.test(first)) return "";
  return [first.replace(/^NOTE\b/u, ""), ...rest].join("\n").trim();
}

function timesOf(line: string): { readonly from: number; readonly to: number } {
  const found = TIMES.exec(line)?.groups ?? {};
  const seconds = (hours = "0", minutes = "0", rest = "0"): number =>
    Number(hours) * 3600 + Number(minutes) * 60 + Number(rest);
  return {
    from: seconds(found["hours"], found["minutes"], found["seconds"]),
    to: seconds(found["toHours"], found["toMinutes"], found["toSeconds"]),
  };
}

/** A line without its tags; `<v Ada>` names who speaks. */
function plain(line: string): string {
  return line
    .replaceAll(/<v(?:\.[^\s>]{0,100})?\s+([^<>]{1,200})>/gu, "$1: ")
    .replaceAll(/<[^<>]{0,200}>|\{\\[^{}]{0,200}\}/gu, "")
    .replaceAll(/&[a-z]{2,4};/gu, (entity) => ENTITIES.get(entity) ?? entity)
    .trim();
}

function isSpeaker(line = ""): boolean {
  return /^[^:]{1,60}: \S|^[-–—]\s/u.test(line);
}
