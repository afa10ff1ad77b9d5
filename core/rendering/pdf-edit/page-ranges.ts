/** Pages that one list of ranges names at most. */
const MOST = 5000;

type Refuse = (why: string) => Error;

/**
 * Returns the indexes of pages in the order of a text such as "1-3, 7, 9-", of a document with `count` pages.
 *
 * @throws the error that `refuse` makes of the reason
 */
export function pagesIn(text: string, count: number, refuse: Refuse): number[] {
  const found = new Set<number>();
  for (const part of text.split(",")) {
    const [from, end] = rangeOf(part.trim().slice(0, 40), count, refuse);
    for (let page = from; page <= end; page++) {
      if (found.has(page)) throw refuse(`Page ${page} is there twice`);
      if (found.size === MOST) throw refuse(`It has more than ${MOST} pages`);
      found.add(page);
    }
  }
  return [...found].map((page) => page - 1);
}

/** The first and the last page of "3", "3-7", "-7" or "3-". */
function rangeOf(text: string, count: number, refuse: Refuse): readonly [number, number] {
  const [first = "", last = first, ...more] = text.split("-").map((end) => end.trim());
  const isRange = /^(?:\d{1,6}|(?=.*\d)\d{0,6}\s*-\s*\d{0,6})$/u.test(text) && more.length === 0;
  if (!isRange) throw refuse(`"${text}" is not a range of pages: write "1-3, 7, 9-"`);
  const from = first === "" ? 1 : Number(first);
  const end = last === "" ? Math.max(count, from) : Number(last);
  const missing = [from, end].find((page) => page < 1 || page > count);
  if (missing !== undefined) throw refuse(`There is no page ${missing}: the PDF has ${count}`);
  if (from > end) throw refuse(`"${text}" ends before it begins`);
  return [from, end];
}
