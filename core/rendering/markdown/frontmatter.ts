/** What a page says about itself. */
export interface PageFacts {
  readonly title: string;
  readonly description: string;
  readonly image: string;
}

/** Characters of one value. */
const VALUE_LIMIT = 2000;

/** YAML frontmatter of the facts that are there; empty when there are none. */
export function frontmatterOf(facts: PageFacts): string {
  const lines = Object.entries(facts)
    .filter(([, value]) => value !== "")
    .map(([key, value]) => `${key}: ${quoted(value)}`);
  return lines.length === 0 ? "" : `---\n${lines.join("\n")}\n---\n\n`;
}

/** A double-quoted YAML scalar: JSON's quoting, with what YAML calls unprintable escaped too. */
function quoted(value: string): string {
  const json = JSON.stringify(value.slice(0, VALUE_LIMIT));
  return json.replaceAll(/[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/gu, (char) => {
    return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
