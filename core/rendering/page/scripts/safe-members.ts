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
    attributesOf: reader(Element.prototype, "attributes"),
    bodyOf: reader(Document.prototype, "body"),
    boxOf: caller(Element.prototype, "getBoundingClientRect"),
    childrenOf: reader(Node.prototype, "childNodes"),
    documentOf: reader(Node.prototype, "ownerDocument"),
    find: caller(Document.prototype, "querySelector"),
    findAll: caller(Document.prototype, "querySelectorAll"),
    htmlOf: reader(Element.prototype, "outerHTML"),
    innerHtmlOf: reader(Element.prototype, "innerHTML"),
    nameOf: reader(Element.prototype, "localName"),
    parentOf: reader(Node.prototype, "parentElement"),
    remove: caller(Element.prototype, "remove"),
    rootOf: reader(Document.prototype, "documentElement"),
    shadowOf: reader(Element.prototype, "shadowRoot"),
    textOf: reader(Node.prototype, "textContent"),
    titleOf: reader(Document.prototype, "title"),
    typeOf: reader(Node.prototype, "nodeType"),
    innerTextOf: reader(HTMLElement.prototype, "innerText"),
  };
})()`;
