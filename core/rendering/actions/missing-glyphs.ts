import type { Log } from "../../ports.ts";

/** Is told of characters of a page that no font of its browser has. */
export type OnMissingGlyphs = (characters: readonly string[]) => void;

/** Scripts that a bare system lacks, and Debian's package for each. */
const packages: readonly (readonly [kind: string, pattern: RegExp, install: string])[] = [
  [
    "Chinese, Japanese and Korean",
    /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]/u,
    "fonts-noto-cjk",
  ],
  ["emoji", /\p{Emoji_Presentation}/u, "fonts-noto-color-emoji"],
  ["other scripts", /./su, "fonts-noto-core"],
];

/** Warns once of each kind of characters that the browser can only draw as boxes. */
export function warnOfMissingGlyphs(log: Log): OnMissingGlyphs {
  const told = new Set<string>();
  return (characters) => {
    for (const character of characters) {
      const [kind, , install] = packages.find(([, pattern]) => pattern.test(character)) ?? [];
      if (kind === undefined || told.has(kind)) continue;
      told.add(kind);
      const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
      log(
        "warn",
        "A page has characters that no font of the browser has: they are drawn as boxes",
        {
          kind,
          character: code,
          install,
        },
      );
    }
  };
}
