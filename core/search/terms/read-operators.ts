import { type ApiError, invalidRequest } from "../../http/api-error.ts";

/** A query as it was typed into a search box, taken apart. */
export interface QueryParts {
  /** The words outside of phrases. */
  readonly words: string;
  /** Phrases in quotation marks. */
  readonly required: readonly string[];
  /** Words and phrases behind a minus. */
  readonly excluded: readonly string[];
}

/** Phrases and exclusions of one query. */
const MAX_OPERATORS = 16;

/** A phrase, whose closing mark may be missing at the end; or a word behind a minus that follows a blank. */
const OPERATOR = /(?<=^|\s)(-?)["“”„]([^"“”„]*)(?:["“”„]|$)|(?<=^|\s)-([\p{L}\p{N}]\S*)/gu;

/**
 * Reads phrases in quotation marks and exclusions (`-word`, `-"a phrase"`). Throws 400 for more than 16 of them, and for a
 * query that only excludes.
 */
export function readOperators(query: string): QueryParts {
  const required: string[] = [];
  const excluded: string[] = [];
  const words = query.replace(
    OPERATOR,
    (_, minus: string | undefined, phrase: string | undefined, word: string | undefined) => {
      if (word !== undefined) excluded.push(word);
      else if (phrase !== undefined && phrase.trim() !== "")
        (minus === "-" ? excluded : required).push(phrase);
      return " ";
    },
  );
  if (required.length + excluded.length > MAX_OPERATORS)
    throw invalid(`the query has more than ${MAX_OPERATORS} phrases and exclusions`);
  if (excluded.length > 0 && required.length === 0 && !/[\p{L}\p{N}]/u.test(words))
    throw invalid("the query only excludes; add a word to look for");
  return { words: words.trim(), required, excluded };
}

/** Returns the parts of a query that is read as it is. */
export function plainParts(query: string): QueryParts {
  return { words: query, required: [], excluded: [] };
}

/** Returns a query without its operators, as vectors and readers take it: without what it excludes. */
export function withoutOperators(query: string): string {
  const { words, required } = readOperators(query);
  return [words, ...required].filter((part) => part !== "").join(" ");
}

function invalid(why: string): ApiError {
  return invalidRequest(`query_operators: ${why}`);
}
