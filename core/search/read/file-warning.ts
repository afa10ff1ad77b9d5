/** A part of a file that could not be read; the rest of the file is indexed. */
export type FileWarning = {
  /** Stable, such as `part_not_read` (docs/search-files.md). */
  readonly code: string;
  /** The name of the part that was not read, and the reason. */
  readonly message: string;
  /** Page or slide, counted from 1. @default it belongs to none */
  readonly page?: number;
};

/** Warnings that an item keeps: a file of thousands of bad parts says so in as many. */
const MAX_WARNINGS = 20;
const MAX_CODE = 64;
const MAX_MESSAGE = 300;
/** Characters of a log entry about them. */
const MAX_LOST = 1000;

/** Returns the warnings as text for a log; empty for no warnings. */
export function lostText(warnings: readonly FileWarning[] = []): string {
  const all = warnings.map(({ message, page }) =>
    page === undefined ? message : `page ${page}: ${message}`,
  );
  return all.join("; ").slice(0, MAX_LOST);
}

/** Returns warnings as an item keeps them: the last one counts those that are left out. */
export function boundedWarnings(warnings: readonly FileWarning[]): readonly FileWarning[] {
  const isAll = warnings.length <= MAX_WARNINGS;
  const kept = isAll ? warnings : warnings.slice(0, MAX_WARNINGS - 1);
  const more: FileWarning = {
    code: "more_warnings",
    message: `${warnings.length - kept.length} more warnings`,
  };
  return [...kept, ...(isAll ? [] : [more])].map(({ code, message, page }) => ({
    code: code.slice(0, MAX_CODE),
    message: message.slice(0, MAX_MESSAGE).toWellFormed(),
    ...(page === undefined ? {} : { page }),
  }));
}
