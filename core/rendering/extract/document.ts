import { DOMParser } from "linkedom/worker";
import { ApiError } from "../../http/api-error.ts";

/** The members of an element that are read: not every runtime has the types of a DOM. */
export interface DomPart {
  readonly localName: string;
  readonly textContent: string | null;
  readonly innerHTML: string;
  readonly outerHTML: string;
  readonly parentElement: DomPart | null;
  querySelector(selector: string): DomPart | null;
  querySelectorAll(selector: string): Iterable<DomPart>;
  closest(selector: string): DomPart | null;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  remove(): void;
}

/** A document of linkedom, as far as it is used. */
export interface ParsedDocument {
  readonly body: Omit<DomPart, "innerHTML"> & { innerHTML: string };
  querySelector(selector: string): DomPart | null;
  querySelectorAll(selector: string): Iterable<DomPart>;
}

/** The document or element in which parts are looked for. */
export type Whole = Pick<DomPart, "querySelectorAll">;

/** Elements of a document, and how deep they may nest: the work grows with their product. */
const ELEMENTS = 10_000;
const DEPTH = 100;

/** A fragment has a body of its own in linkedom only when it is written. */
export function parseDocument(html: string): ParsedDocument {
  const isWhole = /<html[\s>]/iu.test(html);
  const parts = /<(?:head|body)[\s>]/iu.test(html) ? html : `<head></head><body>${html}</body>`;
  const whole = isWhole ? html : `<html>${parts}</html>`;
  return new DOMParser().parseFromString(whole, "text/html");
}

/**
 * Refuses a document whose work would grow beyond all bounds.
 *
 * @throws ApiError `page_too_large` with what it is about, and what to do instead
 */
export function refuseLarge(document: Whole, about: string, instead: string): void {
  const refusal = (what: string): ApiError =>
    new ApiError("page_too_large", { message: `${about}The page has ${what}; ${instead}` });
  const all = [...document.querySelectorAll("*")];
  if (all.length > ELEMENTS) throw refusal(`more than ${ELEMENTS} elements`);
  const depths = new Map<DomPart, number>();
  for (const element of all) {
    const { parentElement } = element;
    const depth = parentElement === null ? 1 : (depths.get(parentElement) ?? 0) + 1;
    if (depth > DEPTH) throw refusal(`elements more than ${DEPTH} deep`);
    depths.set(element, depth);
  }
}
