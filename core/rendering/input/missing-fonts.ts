import type { Log } from "../../ports.ts";

/** A kind of characters of a page that no font of its browser has, so that they are drawn as boxes. */
export interface MissingFont {
  readonly kind: string;
  /** The first such character, such as `U+65E5`. */
  readonly character: string;
  /** Debian's package that has them. */
  readonly install: string;
}

/** Scripts that a bare system lacks. */
const packages: readonly (readonly [kind: string, pattern: RegExp, install: string])[] = [
  [
    "Chinese, Japanese and Korean",
    /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]/u,
    "fonts-noto-cjk",
  ],
  ["emoji", /\p{Emoji_Presentation}/u, "fonts-noto-color-emoji"],
  ["other scripts", /./su, "fonts-noto-core"],
];

/** Returns the fonts that characters need, each kind once. */
export function fontsFor(characters: readonly string[]): MissingFont[] {
  const fonts = new Map<string, MissingFont>();
  for (const found of characters) {
    const [kind, , install] = packages.find(([, pattern]) => pattern.test(found)) ?? [];
    if (kind === undefined || install === undefined || fonts.has(kind)) continue;
    const code = (found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    fonts.set(kind, { kind, character: `U+${code}`, install });
  }
  return [...fonts.values()];
}

/** Receives the fonts that the browser lacks for a page. */
export type OnMissingFonts = (fonts: readonly MissingFont[]) => void;

/** Warns once of each kind of characters that the browser can only draw as boxes. */
export function warnOfMissingFonts(log: Log): OnMissingFonts {
  const told = new Set<string>();
  return (fonts) => {
    for (const font of fonts) {
      if (told.has(font.kind)) continue;
      told.add(font.kind);
      const message =
        "A page has characters that no font of the browser has: they are drawn as boxes";
      log("warn", message, { ...font });
    }
  };
}
