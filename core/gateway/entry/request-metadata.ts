/** A request's metadata by its keys. */
export type Metadata = Readonly<Record<string, string | number | boolean>>;

/** Reads the JSON text as which metadata travels (`Controls.metadata`); empty without one. */
export function readMetadata(text: string | null | undefined): Metadata {
  // `as`: whoever wrote the text has checked its entries.
  return text == null ? {} : (JSON.parse(text) as Metadata);
}
