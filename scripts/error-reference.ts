// Writes docs/errors.md from the table of errors: `npm run errors`. A test compares the page with the table.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type ErrorName, errorKind, errorKinds } from "../core/http/codes.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
/** The path of the page. */
export const errorPage: string = `${root}docs/errors.md`;

const HEAD = `# Errors

<!-- Written by \`npm run errors\` from core/http/codes.ts. -->

Find a failure here by its code: every failure that causey itself reports is below. Errors of a provider, or of a rendered site, pass through unchanged.
For example, this answer has the code 10000:

\`\`\`json
{
  "success": false,
  "errors": [{ "code": 10000, "message": "Authentication error: no token was sent; send …" }],
  "result": null,
  "messages": []
}
\`\`\`

Find the code in the second column of the tables, or the failure's name, which the log and the console show, in the last one. Codes never change;
messages, which say what to do, may. The gateway adds \`error\` in the form that the clients of its providers read.
A 429 or 503 says in \`retry-after\` after how many seconds you can try again.
Each answer has the id of its request in \`x-request-id\`; answers of the gateway also have it in \`cf-aig-request-id\`.
The [log](operation.md#log) has a line with the same id as \`request_id\`.
`;

/** Returns the page that the table gives. */
export function errorReference(): string {
  const parts = sections(readFileSync(`${root}core/http/codes.ts`, "utf8"));
  const pages = parts.map(({ title, page, names }) => {
    const more = page === null ? "" : `\n[More](${page})\n`;
    const rows = names.map((name) => {
      const { status, code, message } = errorKind(name);
      return `| ${status} | ${code} | ${message} | \`${name}\` |`;
    });
    return `\n## ${title}\n${more}\n| Status | Code | Message | Name |\n| --- | --- | --- | --- |\n${rows.join("\n")}\n`;
  });
  const links = parts.map(({ title }) => {
    const anchor = title.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, "");
    return `[${title}](#${anchor.replaceAll(" ", "-")})`;
  });
  return `${HEAD}\nContents: ${links.join(" · ")}\n${pages.join("")}`;
}

interface Section {
  readonly title: string;
  /** The document that its comment names. */
  readonly page: string | null;
  readonly names: ErrorName[];
}

/** Returns the table's own parts: a comment begins each. */
function sections(source: string): readonly Section[] {
  const found: Section[] = [];
  for (const line of source.split("\n")) {
    const [, title, page] = /^ {2}\/\/ ([A-Z][^:]*)(?:: docs\/(.*))?$/.exec(line) ?? [];
    if (title !== undefined) found.push({ title, page: page ?? null, names: [] });
    const name = /^ {2}(\w+): \[/.exec(line)?.[1];
    if (isName(name)) found.at(-1)?.names.push(name);
  }
  return found;
}

function isName(name: string | undefined): name is ErrorName {
  return name !== undefined && Object.hasOwn(errorKinds, name);
}

if (import.meta.main) writeFileSync(errorPage, errorReference());
