/** Character sets of fonts (RTF 1.9.1, `\fcharset`) as code pages of Windows. */
const FONTS: ReadonlyMap<number, number> = new Map([
  [77, 10_000],
  [128, 932],
  [129, 949],
  [134, 936],
  [136, 950],
  [161, 1253],
  [162, 1254],
  [163, 1258],
  [177, 1255],
  [178, 1256],
  [186, 1257],
  [204, 1251],
  [222, 874],
  [238, 1250],
]);

/** Code pages whose labels of the Encoding Standard have other names than `windows-` and their number. */
const LABELS: ReadonlyMap<number, string> = new Map([
  [866, "ibm866"],
  [932, "shift_jis"],
  [936, "gb18030"],
  [949, "euc-kr"],
  [950, "big5"],
  [10_000, "macintosh"],
  [65_001, "utf-8"],
]);

/** Returns a charset that every runtime decodes for a code page of Windows; unknown ones are Western European. */
export function codePageCharset(page: number): string {
  const isWindows = page === 874 || (page >= 1250 && page <= 1258);
  return LABELS.get(page) ?? `windows-${isWindows ? page : 1252}`;
}

/** Returns the charset of a font; null where it is the one of the document. */
export function fontCharset(number: number): string | null {
  const page = FONTS.get(number);
  return page === undefined ? null : codePageCharset(page);
}
