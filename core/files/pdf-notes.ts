/** An annotation of a page as the parser gives it, as far as it is read (PDF 32000-1, 12.5 and 12.7). */
export interface Annotation {
  readonly subtype?: unknown;
  readonly url?: unknown;
  readonly hidden?: unknown;
  readonly contentsObj?: unknown;
  readonly titleObj?: unknown;
  readonly fieldType?: unknown;
  readonly fieldName?: unknown;
  readonly fieldValue?: unknown;
  readonly alternativeText?: unknown;
  readonly checkBox?: unknown;
  readonly radioButton?: unknown;
  readonly exportValue?: unknown;
  readonly buttonValue?: unknown;
  readonly password?: unknown;
  readonly options?: unknown;
}

/** Links of one page. */
const MAX_LINKS = 500;
/** Kinds whose texts the page shows already, or that another annotation has. */
const SILENT: ReadonlySet<unknown> = new Set(["Link", "Popup"]);

/** Web addresses that a page links to, each once. */
export function linksOf(annotations: readonly Annotation[]): string[] {
  const links = annotations.flatMap(({ url }) => (typeof url === "string" ? [url] : []));
  return [...new Set(links)].filter((url) => /^https?:/iu.test(url)).slice(0, MAX_LINKS);
}

/** Values of the form fields of a page, each with its label, and what readers noted on it; one a line. */
export function notesOf(annotations: readonly Annotation[]): string[] {
  const lines = annotations.flatMap((one) =>
    one.hidden === true ? [] : one.subtype === "Widget" ? fieldLine(one) : noteLine(one),
  );
  return [...new Set(lines)];
}

function fieldLine(field: Annotation): string[] {
  const label = textOf(field.alternativeText) || textOf(field.fieldName);
  const value = field.fieldType === "Btn" ? buttonValue(field) : writtenValue(field);
  return value === "" ? [] : [label === "" ? value : `${label}: ${value}`];
}

function writtenValue({ fieldType, fieldValue, options, password }: Annotation): string {
  if (password === true || (fieldType !== "Tx" && fieldType !== "Ch")) return "";
  const values = Array.isArray(fieldValue) ? fieldValue.map(textOf) : [textOf(fieldValue)];
  const shown = new Map(
    (Array.isArray(options) ? options : []).map((option: Option) => [
      textOf(option.exportValue),
      textOf(option.displayValue),
    ]),
  );
  return values
    .map((value) => shown.get(value) || value)
    .filter(Boolean)
    .join(", ");
}

interface Option {
  readonly exportValue?: unknown;
  readonly displayValue?: unknown;
}

/** The value of a box that is ticked, or of the button that is chosen; "" for all others. */
function buttonValue({ checkBox, radioButton, fieldValue, ...field }: Annotation): string {
  const own =
    checkBox === true ? field.exportValue : radioButton === true ? field.buttonValue : null;
  const value = textOf(own);
  if (value === "" || value === "Off" || value !== textOf(fieldValue)) return "";
  return value;
}

function noteLine({ subtype, contentsObj, titleObj }: Annotation): string[] {
  const note = strOf(contentsObj);
  if (note === "" || SILENT.has(subtype)) return [];
  const author = strOf(titleObj);
  return [author === "" || subtype === "FreeText" ? note : `${author}: ${note}`];
}

function strOf(value: unknown): string {
  return typeof value === "object" && value !== null && "str" in value ? textOf(value.str) : "";
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value.replaceAll(/\r\n?/gu, "\n").trim() : "";
}
