/** Takes out the signs that only say where a word may be broken (U+00AD): search would take its parts for words. */
export function withoutSoftHyphens(text: string): string {
  return text.replaceAll("\u00ad", "");
}
