import { invalidRequest } from "../../http/api-error.ts";
import type { PdfOptions } from "../input/body.ts";
import type { Attributes, readHtml as ReadHtml } from "../markdown/html-events.ts";

/** Characters of a template that are looked at: a few milliseconds of work. */
const LOOKED_AT = 131_072;

/** Files of a template that count. */
const MOST = 100;

/** The reason that is told of each. */
export const NOT_LOADED =
  "Chromium loads no file for a header or footer: write it as a data: address";

/** A file that a template names, by its use. */
export interface TemplateFile {
  readonly url: string;
  readonly type: "image" | "font" | "stylesheet";
}

/**
 * Returns the files that headers and footers of a PDF name: Chromium prints without them, and says nothing.
 *
 * @throws ApiError `invalid_request` for style sheets and fonts, at which its page crashes
 */
export async function templateFiles(options: PdfOptions): Promise<readonly TemplateFile[]> {
  if (options.displayHeaderFooter !== true) return [];
  // A server's start needs no parser.
  const { readHtml } = await import("../markdown/html-events.ts");
  return (["headerTemplate", "footerTemplate"] as const).flatMap((field) => {
    const files = filesOf(readHtml, (options[field] ?? "").slice(0, LOOKED_AT));
    const fatal = files.find(({ type }) => type !== "image");
    if (fatal === undefined) return files;
    throw invalidRequest(
      `pdfOptions.${field}: "${fatal.url.slice(0, 80)}" cannot be loaded. Chromium loads no style sheet or font for a header or footer, nor anything ahead: write them into a <style> of the template, fonts as data: addresses`,
    );
  });
}

/** Returns what of a template would have to be loaded. */
function filesOf(readHtml: typeof ReadHtml, template: string): TemplateFile[] {
  const files = new Map<string, TemplateFile>();
  const add = (type: TemplateFile["type"], url = ""): void => {
    if (!/^\s*(?:data:|about:|#|$)/iu.test(url) && files.size < MOST)
      files.set(`${type} ${url}`, { type, url: url.trim() });
  };
  let style: string | null = null;
  const reading = readHtml(template, {
    open(name, attributes) {
      if (name === "style") style = "";
      for (const url of namedBy(name, attributes)) add("image", url);
      for (const url of addressesIn(attributes["style"] ?? "")) add("image", url);
      if (name === "link" && isFetched(attributes)) add("stylesheet", attributes["href"]);
    },
    close(name) {
      if (name !== "style" || style === null) return;
      for (const { type, url } of sheetFiles(style)) add(type, url);
      style = null;
    },
    text(text) {
      if (style !== null) style += text;
    },
  });
  for (const _ of reading);
  return [...files.values()];
}

/** Whether Chromium would fetch what a link names as it reads it, which ends the printing: pictures are passed over. */
function isFetched({ rel = "", as = "" }: Attributes): boolean {
  if (/(?:^|\s)(?:stylesheet|modulepreload|prefetch)(?:\s|$)/iu.test(rel)) return true;
  return /(?:^|\s)preload(?:\s|$)/iu.test(rel) && /^(?:style|font|script|fetch)$/iu.test(as);
}

function namedBy(
  name: string,
  { src, href, poster, ...others }: Attributes,
): (string | undefined)[] {
  // The `image` of SVG is read as `img`, too.
  if (name === "img") return [src ?? href ?? others["xlink:href"]];
  if (name === "input" || name === "source") return [src];
  return name === "video" ? [poster] : [];
}

/** Returns the files that the rules of a style sheet name. */
function sheetFiles(text: string): TemplateFile[] {
  const css = text
    .replaceAll(/\/\*.*?(?:\*\/|$)/gsu, "")
    .replaceAll(/\\(?<code>[\da-f]{1,6})\s?/giu, (_, code: string) => fromCode(code));
  const imported = [...css.matchAll(/@import\s*(?:url\()?\s*["']?(?<url>[^"'()\s;]*)/giu)];
  const faces = [...css.matchAll(/@font-face\s*\{(?<rules>[^}]*)/giu)];
  const rest = css.replaceAll(/@import[^;]*/giu, "").replaceAll(/@font-face\s*\{[^}]*/giu, "");
  return [
    ...imported.map((found) => ({ type: "stylesheet", url: found.groups?.["url"] ?? "" }) as const),
    ...faces
      .flatMap((found) => addressesIn(found.groups?.["rules"] ?? ""))
      .map((url) => ({ type: "font", url }) as const),
    ...addressesIn(rest).map((url) => ({ type: "image", url }) as const),
  ];
}

function fromCode(hex: string): string {
  const code = Number.parseInt(hex, 16);
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : "";
}

function addressesIn(css: string): string[] {
  return [...css.matchAll(/url\(\s*["']?(?<url>[^"')]*)/giu)].map(
    (one) => one.groups?.["url"] ?? "",
  );
}
