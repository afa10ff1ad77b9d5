import { existsSync, globSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { type Group, groups } from "./sidebar.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { homepage } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as {
  homepage: string;
};
/** The address of files of the repository that have no page on the site. */
const files = `${homepage.replace(/#.*$/u, "")}/blob/main/`;

/** A page of the site. */
export interface SitePage {
  /** Its file in the repository. */
  readonly source: string;
  /** Below the site's root, with `.md`. */
  readonly path: string;
  readonly title: string;
  readonly text: string;
}

/** The site's navigation: the groups, with each page of docs/ that no group names after the page whose name it begins with. */
export const navigation: readonly Group[] = groups.map(({ text, pages }) => ({
  text,
  pages: pages.flatMap((page) => [page, ...unnamedBelow(page)]),
}));

/** Lists the pages below one that the navigation omits: for `docs/search.md`, `docs/search-….md` and `docs/search/….md`. */
function unnamedBelow(page: string): readonly string[] {
  const stem = page.replace(/\.md$/u, "");
  const named = new Set(groups.flatMap((group) => group.pages));
  return globSync(`${stem}{-,/}*.md`, { cwd: root })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => !named.has(path))
    .toSorted();
}

/** Returns the site's path of a file of the repository, or null when the file has no page. */
function pathOf(source: string): string | null {
  if (!navigation.some(({ pages }) => pages.includes(source))) return null;
  if (source === "README.md") return "overview.md";
  return source.startsWith("docs/") ? source.slice("docs/".length) : source.toLowerCase();
}

/**
 * Returns the pages of the site: the repository's documents, with links that lead to pages of the site or to the
 * repository.
 *
 * @throws Error when a link leads to no file.
 */
export function sitePages(): readonly SitePage[] {
  return navigation.flatMap(({ pages }) => pages.map(sitePage));
}

function sitePage(source: string): SitePage {
  // The site shows the headings beside each page, so the page's own list of them goes.
  const text = readFileSync(`${root}${source}`, "utf8")
    .replaceAll(/<!--[\s\S]*?-->\n*/gu, "")
    .replace(/^Contents: [\s\S]*?\n\n/mu, "");
  const path = pathOf(source) ?? source;
  const [, heading = source] = /^# (.+)$/mu.exec(text) ?? [];
  const title = source === "README.md" ? "Overview" : heading;
  return { source, path, title, text: relinked(text, source, path) };
}

/** Returns a page's text with its links as the site has them. Code stays as it is. */
function relinked(text: string, source: string, path: string): string {
  const code = /^```[\s\S]*?^```$|`[^`\n]+`/gmu;
  const relink = (prose: string): string =>
    prose.replaceAll(/\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)/gu, (_, link: string, at = "") => {
      const target = posix.join(posix.dirname(source), link);
      if (!existsSync(`${root}${target}`))
        throw new Error(`${source} links to ${target}, which is not there.`);
      const page = pathOf(target);
      return `](${page === null ? files + target : posix.relative(posix.dirname(path), page)}${String(at)})`;
    });
  let result = "";
  let end = 0;
  for (const match of text.matchAll(code)) {
    result += relink(text.slice(end, match.index)) + match[0];
    end = match.index + match[0].length;
  }
  return result + relink(text.slice(end));
}
