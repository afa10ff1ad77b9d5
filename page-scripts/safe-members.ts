/**
 * Members of nodes, read by their prototypes. A form's own members are its fields, and a document's its named pictures and forms:
 * `<input name="attributes">` would be read in the place of the attributes (HTML, "named properties").
 */

type MethodOf<Member> = Member extends (...args: infer Args) => infer Result
  ? { readonly args: Args; readonly result: Result }
  : never;

/** A class of nodes. */
interface NodeClass<Owner> {
  readonly prototype: Owner;
}

function reader<Owner, Name extends keyof Owner>(
  { prototype }: NodeClass<Owner>,
  name: Name,
): (node: Owner) => Owner[Name] {
  const { get } = Object.getOwnPropertyDescriptor(prototype, name) as { get: () => Owner[Name] };
  return (node) => Reflect.apply(get, node, []);
}

function caller<Owner, Name extends keyof Owner>(
  { prototype }: NodeClass<Owner>,
  name: Name,
): (node: Owner, ...args: MethodOf<Owner[Name]>["args"]) => MethodOf<Owner[Name]>["result"] {
  const method = prototype[name] as (...args: unknown[]) => MethodOf<Owner[Name]>["result"];
  return (node, ...args) => Reflect.apply(method, node, args);
}

// Each script has those that it uses: the comments tell the bundler that making one has no effect.
export const append = /* @__PURE__ */ caller(Element, "append");
export const attributesOf = /* @__PURE__ */ reader(Element, "attributes");
export const baseOf = /* @__PURE__ */ reader(Node, "baseURI");
export const boxOf = /* @__PURE__ */ caller(Element, "getBoundingClientRect");
export const boxesOf = /* @__PURE__ */ caller(Element, "getClientRects");
export const childrenOf = /* @__PURE__ */ reader(Node, "childNodes");
export const clientHeightOf = /* @__PURE__ */ reader(Element, "clientHeight");
export const createElement = /* @__PURE__ */ caller(Document, "createElement");
export const createWalker = /* @__PURE__ */ caller(Document, "createTreeWalker");
export const documentOf = /* @__PURE__ */ reader(Node, "ownerDocument");
export const find = /* @__PURE__ */ caller(Document, "querySelector");
export const findAll = /* @__PURE__ */ caller(Document, "querySelectorAll");
export const fontsOf = /* @__PURE__ */ reader(Document, "fonts");
export const htmlOf = /* @__PURE__ */ reader(Element, "outerHTML");
export const imagesOf = /* @__PURE__ */ reader(Document, "images");
export const innerHtmlOf = /* @__PURE__ */ reader(Element, "innerHTML");
export const innerTextOf = /* @__PURE__ */ reader(HTMLElement, "innerText");
export const nameOf = /* @__PURE__ */ reader(Element, "localName");
export const parentOf = /* @__PURE__ */ reader(Node, "parentElement");
export const remove = /* @__PURE__ */ caller(Element, "remove");
// The types of a method are those of its last form.
export const scrollBy = /* @__PURE__ */ caller(Element, "scrollBy") as (
  node: Element,
  options: ScrollToOptions,
) => void;
export const scrollHeightOf = /* @__PURE__ */ reader(Element, "scrollHeight");
export const scrollingOf = /* @__PURE__ */ reader(Document, "scrollingElement");
export const scrollIntoView = /* @__PURE__ */ caller(Element, "scrollIntoView");
export const shadowOf = /* @__PURE__ */ reader(Element, "shadowRoot");
export const textOf = /* @__PURE__ */ reader(Node, "textContent");
export const titleOf = /* @__PURE__ */ reader(Document, "title");
export const typeOf = /* @__PURE__ */ reader(Node, "nodeType");
export const urlOf = /* @__PURE__ */ reader(Document, "URL");

/** Reads a part that a document may lack, whatever its type says. */
type PartReader = (node: Document) => HTMLElement | null;
export const bodyOf = /* @__PURE__ */ reader(Document, "body") as PartReader;
export const headOf = /* @__PURE__ */ reader(Document, "head") as PartReader;
export const rootOf = /* @__PURE__ */ reader(Document, "documentElement") as PartReader;
