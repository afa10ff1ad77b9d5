const BACKSLASH = 92;

/**
 * JSON, from its beginning to anywhere, without what stands in texts of more than `longest` characters: sound and
 * pictures, mostly. What is added behind the result goes on where the JSON did.
 */
export function withoutLongTexts(json: string, longest: number): string {
  let short = "";
  let from = 0;
  for (let open = json.indexOf('"'); open !== -1;) {
    const close = closingQuote(json, open + 1);
    const end = close === -1 ? beforeEscape(json) : close;
    if (end - open > longest) {
      short += json.slice(from, open + 1);
      from = end;
    }
    open = close === -1 ? -1 : json.indexOf('"', close + 1);
  }
  return short + json.slice(from);
}

/** Where the text ends that goes on at `from`; -1 when it does not. */
function closingQuote(json: string, from: number): number {
  let at = json.indexOf('"', from);
  while (at !== -1 && (at - beforeEscape(json, at)) % 2 === 1) at = json.indexOf('"', at + 1);
  return at;
}

/** Where the backslashes begin that end at `end`: the last one may belong to what follows. */
function beforeEscape(json: string, end: number = json.length): number {
  let at = end;
  while (json.charCodeAt(at - 1) === BACKSLASH) at--;
  return at;
}
