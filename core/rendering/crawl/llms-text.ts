import { utf8 } from "../../crypto/encoding.ts";
import type { CrawlMethods } from "./crawl-actor.ts";
import type { CrawlRecord } from "./rows/crawl-records.ts";

/** Pages that are read at a time. */
const SLICE = 500;

/**
 * Yields the `llms.txt` (llmstxt.org) of a site that was crawled: its title, its address, and a link to each page that
 * could be read. Ends early when the crawl was deleted meanwhile.
 */
export async function* llmsText(
  read: (...query: Parameters<CrawlMethods["read"]>) => ReturnType<CrawlMethods["read"]>,
): AsyncGenerator<Uint8Array, void> {
  let isFirst = true;
  for (let cursor: number | null = 0; cursor !== null;) {
    const part: Awaited<ReturnType<CrawlMethods["read"]>> = await read({
      cursor,
      limit: SLICE,
      status: "completed",
    });
    const records = part?.records ?? [];
    const [first] = records;
    if (isFirst && first !== undefined) {
      yield utf8(`# ${titleOf(first)}\n\n> ${first.metadata?.url ?? first.url}\n\n## Pages\n\n`);
      isFirst = false;
    }
    yield utf8(records.map(lineOf).join(""));
    cursor = part?.cursor ?? null;
  }
}

function lineOf(record: CrawlRecord): string {
  const url = (record.metadata?.url ?? record.url).replaceAll("(", "%28").replaceAll(")", "%29");
  return `- [${titleOf(record).replaceAll(/[[\]\\]/gu, String.raw`\$&`)}](${url})\n`;
}

/** Returns a page's title, or its path without one. */
function titleOf({ url, metadata }: CrawlRecord): string {
  return metadata?.title || new URL(url).pathname;
}
