import { Tokenizer } from "htmlparser2";
import { escapeHtml } from "./escape-html.ts";

/** Characters that are read between two yields: a few milliseconds of work. */
const STEP = 65_536;

/** Elements that have no end tag in HTML, where a slash changes nothing. */
const voidElements = new Set(
  "area base br col embed hr img input link meta param source track wbr".split(" "),
);

/**
 * Writes XHTML as HTML that means the same: readers of HTML take `<script/>` for the beginning of a script, which hides the rest of the
 * page, and CDATA for a comment.
 */
export function* xhtmlAsHtml(xhtml: string): Generator<void, string, void> {
  const out: string[] = [];
  let written = 0;
  let name = "";
  const replace = (start: number, end: number, text: string): void => {
    out.push(xhtml.slice(written, start), text);
    written = end;
  };
  const ignore = (): void => {};
  const tokenizer = new Tokenizer(
    { xmlMode: true, decodeEntities: false },
    {
      onopentagname: (start, end) => void (name = xhtml.slice(start, end)),
      onselfclosingtag(end) {
        if (!voidElements.has(name)) replace(xhtml.lastIndexOf("/", end), end + 1, `></${name}>`);
      },
      oncdata(start, end, offset) {
        replace(start - CDATA, end + 1, escapeHtml(xhtml.slice(start, end - offset)));
      },
      onattribdata: ignore,
      onattribentity: ignore,
      onattribend: ignore,
      onattribname: ignore,
      onclosetag: ignore,
      oncomment: ignore,
      ondeclaration: ignore,
      onend: ignore,
      onopentagend: ignore,
      onprocessinginstruction: ignore,
      ontext: ignore,
      ontextentity: ignore,
    },
  );
  for (let at = 0; at < xhtml.length; at += STEP) {
    if (at > 0) yield;
    tokenizer.write(xhtml.slice(at, at + STEP));
  }
  tokenizer.end();
  out.push(xhtml.slice(written));
  return out.join("");
}

/** Characters of the sign that CDATA begins with. */
const CDATA = "<![CDATA[".length;
