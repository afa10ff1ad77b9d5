import { safeMembers } from "./safe-members.ts";

/**
 * Reads what a reader sees of the document, as HTML for the converter: without elements that style sheets hide, with shadow trees
 * in the place of what they show, and with frames of the same origin. Frames of other sites stay as they are written. What the layout
 * sets apart stays apart, as in `innerText` (HTML, "rendered text collection steps"): blocks, items of flex and grid boxes, cells, and
 * the lines of text whose white space counts.
 */
export const readVisible: string = `function (include, exclude, { limit }) {
  const { attributesOf, bodyOf, childrenOf: nodesOf, documentOf, findAll, nameOf, parentOf, rootOf, shadowOf, typeOf } = ${safeMembers};
  const left = new Set(["script", "style", "noscript", "object", "canvas", "svg", "template", "link"]);
  const empty = new Set(["area", "base", "br", "col", "embed", "hr", "img", "input", "meta", "source", "track", "wbr"]);
  const kept = new Set(("href src srcset data-src data-original data-lazy-src data-lazy data-echo data-original-src data-hi-res-src " +
    "data-srcset data-lazy-srcset alt title class start value type checked colspan rowspan align data-lang data-language " +
    "data-line display alttext encoding content name property width height open id role itemprop aria-label aria-hidden").split(" "));
  const blocks = new Set(("address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption " +
    "figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html iframe legend li main menu nav ol optgroup option p pre search section " +
    "select summary table tbody td tfoot th thead tr ul video audio math slot source").split(" "));
  const apart = /^(?:block|flex|grid|flow-root|list-item|table(?!-cell|-column)|ruby-text)/;
  const escaped = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  const escape = (text) => text.replace(/[&<>"]/g, (char) => escaped[char]);
  const root = rootOf(document);
  const body = bodyOf(document) ?? root;
  // A page that scripts show as a whole when they are done.
  const faded = body !== null && getComputedStyle(body).visibility !== "visible";
  const attributes = (element) => {
    let text = "";
    for (const { name, value } of attributesOf(element)) {
      if (name === "style" && /text-align/i.test(value)) text += ' style="' + escape(value) + '"';
      if (!kept.has(name)) continue;
      const framed = documentOf(element) !== document && (name === "href" || name === "src");
      const own = framed && typeof element[name] === "string" ? element[name] : value;
      text += " " + name + '="' + escape(own) + '"';
    }
    return text;
  };
  const childrenOf = (element, name) => {
    const shadow = shadowOf(element);
    if (shadow) return nodesOf(shadow);
    const assigned = name === "slot" ? element.assignedNodes() : [];
    return assigned.length > 0 ? assigned : nodesOf(element);
  };
  const documentIn = (element) => {
    try {
      // Until a frame of another site has begun to load, it has an empty document of this one.
      const inner = element.contentDocument;
      const begins = inner !== null && inner.URL === "about:blank" && /^https?:/.test(element.src ?? "");
      return inner === null || begins ? null : bodyOf(inner);
    } catch {
      return null;
    }
  };
  const matches = (selectors) => new Set(selectors.flatMap((selector) => [...findAll(document, selector)]));
  const excluded = matches(exclude);
  const included = matches(include);
  const out = [];
  let length = 0;
  const write = (text) => {
    length += text.length;
    out.push(text);
  };
  const start = { shown: true, kept: include.length === 0, lines: false, pre: false, heading: false };
  const stack = root === null ? [] : [{ node: root, within: start }];
  const push = (nodes, within) => {
    for (let i = nodes.length - 1; i >= 0; i--) stack.push({ node: nodes[i], within });
  };
  const keepsLines = ({ whiteSpace, whiteSpaceCollapse }) =>
    /^(?:pre|break-spaces)/.test(whiteSpace) || /preserve|break-spaces/.test(whiteSpaceCollapse ?? "");
  // The tags around an element that the layout sets apart and its own tag does not.
  const around = (name, style, { pre, heading }) => {
    if (style === null || blocks.has(name)) return null;
    if (style.display === "table-cell") return [" ", " "];
    if (!apart.test(style.display)) return null;
    if (pre) return null;
    if (heading) return [" ", " "];
    return name === "code" && keepsLines(style) ? ["<pre>", "</pre>"] : ["<div>", "</div>"];
  };
  const enter = (element, outer) => {
    const name = nameOf(element);
    const formula = name === "script" && /^math\\//.test(element.type);
    if ((left.has(name) && !formula) || excluded.has(element)) return;
    const parent = parentOf(element);
    const kept = outer.kept || name === "head" || included.has(element);
    const whole = name === "html" || name === "body" || name === "head" || (parent !== null && nameOf(parent) === "head");
    const style = whole || formula ? null : getComputedStyle(element);
    if (style !== null && style.display === "none") return;
    const shown = style === null || faded || style.visibility === "visible";
    if (empty.has(name)) {
      if (shown && kept) write("<" + name + attributes(element) + ">");
      return;
    }
    const inner = name === "iframe" || name === "frame" ? documentIn(element) : null;
    const tag = inner === null ? name : "div";
    const edges = around(name, style, outer);
    const isCode = edges !== null && edges[0] === "<pre>";
    if (kept) {
      // A line of code that the style sheet makes: the converter knows it by its style.
      const line = outer.pre && style !== null && name !== "div" && apart.test(style.display) ? ' style="display:block"' : "";
      write((edges === null ? "" : edges[0]) + "<" + tag + (inner === null ? attributes(element) + line : "") + ">");
      stack.push("</" + tag + ">" + (edges === null ? "" : edges[1]));
    }
    const within = {
      shown,
      kept,
      pre: outer.pre || name === "pre" || isCode || name === "math",
      lines: style !== null && keepsLines(style),
      heading: outer.heading || /^h[1-6]$/.test(name),
    };
    push(inner === null ? childrenOf(element, name) : nodesOf(inner), within);
  };
  const text = (node, { pre, lines }) => {
    const safe = escape(node.data);
    return lines && !pre ? safe.replace(/\\r\\n?|\\n/g, "<br>") : safe;
  };
  while (stack.length > 0 && length <= limit) {
    const next = stack.pop();
    if (typeof next === "string") write(next);
    else if (typeOf(next.node) === 1) enter(next.node, next.within);
    else if (typeOf(next.node) === 3 && next.within.shown && next.within.kept) write(text(next.node, next.within));
  }
  return length > limit ? { length } : out.join("");
}`;
