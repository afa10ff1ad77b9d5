/** Characters of text that one file may give, whatever its format: a small file can be made of any number. */
export const TEXT_LIMIT: number = 8 * 1024 * 1024;

/** The rest of {@link TEXT_LIMIT} while a file is read. */
export interface TextBudget {
  /** Counts characters before they are kept. Throws when the file has more than it may. */
  take(characters: number): void;
}

/** The budget of one file; `refuse` makes the error of "it has more than … characters". */
export function textBudget(refuse: (why: string) => Error): TextBudget {
  let left = TEXT_LIMIT;
  return {
    take(characters) {
      left -= characters;
      if (left < 0) throw refuse(`it has more than ${TEXT_LIMIT} characters`);
    },
  };
}
