/** The words of the search box; the attribute `texts` replaces some of them (JSON). */
export interface Texts {
  readonly label: string;
  readonly ask: string;
  readonly results: string;
  readonly found: string;
  readonly none: string;
  readonly searching: string;
  readonly answering: string;
  readonly answer: string;
  readonly sources: string;
  readonly failed: string;
  readonly busy: string;
}

const ENGLISH: Texts = {
  label: "Search",
  ask: "Ask",
  results: "Results",
  found: "{n} results",
  none: "Nothing found",
  searching: "Searching…",
  answering: "Looking for an answer…",
  answer: "Answer",
  sources: "Sources",
  failed: "Search is not available at the moment",
  busy: "Too many requests: try again in a moment",
};

/** Reads the attribute `texts`; anything but an object of texts leaves the English words. */
export function readTexts(json: string | null): Texts {
  if (json === null) return ENGLISH;
  try {
    const given = JSON.parse(json) as unknown;
    if (typeof given !== "object" || given === null) return ENGLISH;
    const known = Object.entries(given).filter(
      ([name, text]) => Object.hasOwn(ENGLISH, name) && typeof text === "string",
    );
    return { ...ENGLISH, ...Object.fromEntries(known) };
  } catch {
    return ENGLISH;
  }
}
