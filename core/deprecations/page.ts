import { escapeHtml } from "../text/escape-html.ts";
import type { Phase, ScheduledEntry } from "./phase.ts";
import type { ModernCall } from "./table/entry.ts";

/** An entry of the table as `GET /deprecations` shows it. */
export interface ListedEntry extends Pick<
  ScheduledEntry,
  | "id"
  | "row"
  | "kind"
  | "class"
  | "mode"
  | "date"
  | "eol"
  | "methods"
  | "path"
  | "fields"
  | "where"
  | "replacement"
  | "rule"
> {
  readonly phase: Phase;
  /** RFC 3339; null if it is never refused. */
  readonly enforce_from: string | null;
  /** Present calls that do the same, if the announcement names none. */
  readonly calls: readonly ModernCall[];
  readonly documentation_url: string;
}

/** The style of the page; a policy names its hash, so that nothing else can style it. */
export const STYLE = `
:root { color-scheme: light dark; background: Canvas; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h2 { font-size: 1rem; margin: 2rem 0 .25rem; overflow-wrap: anywhere; }
h2 a { color: inherit; text-decoration: none; }
:target { outline: 2px solid; outline-offset: .5rem; }
p { margin: .25rem 0; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; }
`;

/** The entries as a page for people, with an anchor for each; it has no script. */
export function deprecationsPage(entries: readonly ListedEntry[], address: string): string {
  const phases = ["upcoming", "deprecated", "brownout", "retired"]
    .map((phase) => `<a href="${escapeHtml(address)}?phase=${phase}">${phase}</a>`)
    .join("");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Deprecations</title>
<style>${STYLE}</style>
</head>
<body>
<h1>Deprecations</h1>
<nav><a href="${escapeHtml(address)}">all</a>${phases}</nav>
<p>${entries.length} ${entries.length === 1 ? "entry" : "entries"}.</p>
${sections(entries)}
</body>
</html>
`;
}

/** The entries, with an anchor for each day, to which the refusal of a parameter leads. */
function sections(entries: readonly ListedEntry[]): string {
  const days = new Set<string>();
  return entries
    .map((entry) => {
      const day = entry.date ?? entry.eol ?? "";
      const anchor = days.has(day) ? "" : `<span id="${escapeHtml(day)}"></span>`;
      days.add(day);
      return `${anchor}${section(entry)}`;
    })
    .join("\n");
}

function section(entry: ListedEntry): string {
  const { id, phase, date, enforce_from: end, replacement, calls, fields, rule } = entry;
  const route =
    entry.path === null
      ? ""
      : `<code>${escapeHtml(`${entry.methods.join("|")} ${entry.path}`)}</code>`;
  const uses = [
    ...replacement.map(({ method, path }) => `<code>${escapeHtml(`${method} ${path}`)}</code>`),
    ...calls.map(
      ({ method, path, client }) =>
        `<code>${escapeHtml(`${method} ${path}`)}</code> (<code>client.${escapeHtml(client)}</code>)`,
    ),
  ];
  const lines = [
    route,
    fields.length === 0 ? "" : `Fields: <code>${escapeHtml(fields.join(", "))}</code>`,
    `${phase}, ${date === null ? "" : `deprecated on ${escapeHtml(date)}, `}${
      end === null
        ? "with no known end"
        : `${phase === "retired" ? "ended" : "ends"} on ${escapeHtml(end.slice(0, 10))}`
    }`,
    uses.length === 0 ? "" : `Use ${uses.join(" and ")}`,
    rule === null ? "" : escapeHtml(rule),
  ];
  const name = escapeHtml(encodeURIComponent(id));
  return `<section id="${escapeHtml(id)}"><h2><a href="#${name}">${escapeHtml(id)}</a></h2>
${lines
  .filter((line) => line !== "")
  .map((line) => `<p>${line}</p>`)
  .join("\n")}</section>`;
}
