/** Formats a count with its noun, e.g. `1 file`, `2 files`. `many` is the plural. @default with an s */
export function counted(count: number, one: string, many: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
