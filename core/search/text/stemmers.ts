import type { StemmedLanguage } from "./languages.ts";

/** Returns the stem of a word in lower case. */
export type WordStemmer = (word: string) => string;

/** The Snowball stemmers (https://snowballstem.org), each loaded when an instance has texts in its language. */
const loaders: Readonly<Record<StemmedLanguage, () => Promise<{ readonly stemmer: WordStemmer }>>> =
  {
    arabic: () => import("@orama/stemmers/arabic"),
    danish: () => import("@orama/stemmers/danish"),
    dutch: () => import("@orama/stemmers/dutch"),
    finnish: () => import("@orama/stemmers/finnish"),
    french: () => import("@orama/stemmers/french"),
    german: () => import("@orama/stemmers/german"),
    hungarian: () => import("@orama/stemmers/hungarian"),
    italian: () => import("@orama/stemmers/italian"),
    norwegian: () => import("@orama/stemmers/norwegian"),
    portuguese: () => import("@orama/stemmers/portuguese"),
    romanian: () => import("@orama/stemmers/romanian"),
    russian: () => import("@orama/stemmers/russian"),
    spanish: () => import("@orama/stemmers/spanish"),
    swedish: () => import("@orama/stemmers/swedish"),
    turkish: () => import("@orama/stemmers/turkish"),
  };

export async function stemmerOf(language: StemmedLanguage): Promise<WordStemmer> {
  const { stemmer } = await loaders[language]();
  if (language !== "arabic") return stemmer;
  // Snowball's takes "the" off, and "with the", but not "and the".
  return (word) => stemmer(word.replace(/^[وف](?=ال.{3})/u, ""));
}
