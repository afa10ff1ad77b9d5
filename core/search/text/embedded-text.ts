/** Returns the text that vectors are made of: a chunk under its headings. */
export function embeddedText(chunk: { readonly heading: string; readonly text: string }): string {
  return chunk.heading === "" ? chunk.text : `${chunk.heading}\n${chunk.text}`;
}
