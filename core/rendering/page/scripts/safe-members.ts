/**
 * Reads members of nodes by their prototypes. A form's own members are its fields, and a document's its named pictures and forms:
 * `<input name="attributes">` would be read in the place of the attributes (HTML, "named properties").
 */
export const safeMembers: string = `(() => {
  const reader = (prototype, name) => {
    const { get } = Object.getOwnPropertyDescriptor(prototype, name);
    return (node) => Reflect.apply(get, node, []);
  };
  const caller = (prototype, name) => {
    const method = prototype[name];
    return (node, ...args) => Reflect.apply(method, node, args);
  };
  return {
    append: caller(Element.prototype, "append"),
    attributesOf: reader(Element.prototype, "attributes"),
    baseOf: reader(Node.prototype, "baseURI"),
    bodyOf: reader(Document.prototype, "body"),
    boxOf: caller(Element.prototype, "getBoundingClientRect"),
    childrenOf: reader(Node.prototype, "childNodes"),
    clientHeightOf: reader(Element.prototype, "clientHeight"),
    createElement: caller(Document.prototype, "createElement"),
    createWalker: caller(Document.prototype, "createTreeWalker"),
    documentOf: reader(Node.prototype, "ownerDocument"),
    find: caller(Document.prototype, "querySelector"),
    findAll: caller(Document.prototype, "querySelectorAll"),
    fontsOf: reader(Document.prototype, "fonts"),
    headOf: reader(Document.prototype, "head"),
    htmlOf: reader(Element.prototype, "outerHTML"),
    imagesOf: reader(Document.prototype, "images"),
    innerHtmlOf: reader(Element.prototype, "innerHTML"),
    innerTextOf: reader(HTMLElement.prototype, "innerText"),
    nameOf: reader(Element.prototype, "localName"),
    parentOf: reader(Node.prototype, "parentElement"),
    remove: caller(Element.prototype, "remove"),
    rootOf: reader(Document.prototype, "documentElement"),
    scrollBy: caller(Element.prototype, "scrollBy"),
    scrollHeightOf: reader(Element.prototype, "scrollHeight"),
    scrollingOf: reader(Document.prototype, "scrollingElement"),
    shadowOf: reader(Element.prototype, "shadowRoot"),
    textOf: reader(Node.prototype, "textContent"),
    titleOf: reader(Document.prototype, "title"),
    typeOf: reader(Node.prototype, "nodeType"),
    urlOf: reader(Document.prototype, "URL"),
  };
})()`;
