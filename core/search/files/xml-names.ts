/**
 * Names of XML elements by their namespaces (Namespaces in XML 1.0): programs choose the prefixes, and some of .NET
 * choose `x:workbook`. Readers see the prefixes below, or nothing before the names of a namespace that is a file's main one.
 */
export interface XmlNames {
  /** Enters an element. Returns its name and attributes as readers see them. */
  open(name: string, attributes: XmlAttributes): readonly [name: string, attributes: XmlAttributes];
  /** Leaves the last element. */
  close(): void;
  /** The namespace that a prefix stands for here. */
  namespaceOf(prefix: string): string | undefined;
}

export type XmlAttributes = Readonly<Record<string, string>>;

const OOXML = "http://schemas.openxmlformats.org/";
const STRICT = "http://purl.oclc.org/ooxml/";
const ODF = "urn:oasis:names:tc:opendocument:xmlns:";

/**
 * The namespaces of Office Open XML (ECMA-376, part 1, annex A; part 4 has the transitional ones), of EPUB
 * (www.w3.org/TR/epub-33) and of OpenDocument 1.3 (part 3, section 2.2), each with the prefix that readers see.
 */
const PREFIXES: ReadonlyMap<string, string> = new Map([
  ...Object.entries({
    w: "wordprocessingml",
    a: "drawingml",
    p: "presentationml",
    "": "spreadsheetml",
  }).flatMap(([prefix, name]): [string, string][] => [
    [`${OOXML}${name}/2006/main`, prefix],
    [`${STRICT}${name}/main`, prefix],
  ]),
  ...Object.entries({
    c: "chart",
    dgm: "diagram",
    wp: "wordprocessingDrawing",
    xdr: "spreadsheetDrawing",
  }).flatMap(([prefix, name]): [string, string][] => [
    [`${OOXML}drawingml/2006/${name}`, prefix],
    [`${STRICT}drawingml/${name}`, prefix],
  ]),
  [`${OOXML}officeDocument/2006/relationships`, "r"],
  [`${STRICT}officeDocument/relationships`, "r"],
  [`${OOXML}officeDocument/2006/math`, "m"],
  [`${STRICT}officeDocument/math`, "m"],
  [`${OOXML}markup-compatibility/2006`, "mc"],
  [`${OOXML}package/2006/relationships`, ""],
  ["http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments", ""],
  ["http://www.idpf.org/2007/opf", ""],
  ["urn:oasis:names:tc:opendocument:xmlns:container", ""],
  ["http://www.w3.org/2001/04/xmlenc#", "enc"],
  ["http://www.w3.org/XML/1998/namespace", "xml"],
  ["http://purl.org/dc/elements/1.1/", "dc"],
  ["http://www.w3.org/1998/Math/MathML", "math"],
  [`${ODF}svg-compatible:1.0`, "svg"],
  ...["office", "text", "table", "drawing", "presentation", "manifest", "style"].map(
    (name): [string, string] => [`${ODF}${name}:1.0`, name === "drawing" ? "draw" : name],
  ),
]);

/** Stands before names of another namespace that have no prefix themselves. */
const FOREIGN = "?";

/** Follows the namespaces of one XML text. A prefix of another namespace stays as it is. */
export function xmlNames(): XmlNames {
  type Scope = ReadonlyMap<string, string>;
  const scopes: Scope[] = [new Map([["xml", "http://www.w3.org/XML/1998/namespace"]])];
  const current = (): Scope => scopes.at(-1) ?? new Map();
  const seen = (name: string, isElement: boolean): string => {
    const colon = name.indexOf(":");
    // An attribute without a prefix is in no namespace.
    if (colon < 0 && !isElement) return name;
    const prefix = name.slice(0, Math.max(0, colon));
    const namespace = current().get(prefix);
    if (namespace === undefined || namespace === "") return name;
    const shown = PREFIXES.get(namespace) ?? (prefix === "" ? FOREIGN : prefix);
    return shown === prefix ? name : `${shown === "" ? "" : `${shown}:`}${name.slice(colon + 1)}`;
  };
  return {
    open(name, attributes) {
      scopes.push(inner(current(), attributes));
      const renamed = Object.keys(attributes).some((one) => seen(one, false) !== one)
        ? Object.fromEntries(
            Object.entries(attributes).map(([one, value]) => [seen(one, false), value]),
          )
        : attributes;
      return [seen(name, true), renamed];
    },
    close() {
      scopes.pop();
    },
    namespaceOf: (prefix) => current().get(prefix),
  };
}

/** The scope within an element: its own declarations before those around it. */
function inner(
  outer: ReadonlyMap<string, string>,
  attributes: XmlAttributes,
): ReadonlyMap<string, string> {
  let scope: Map<string, string> | null = null;
  for (const name of Object.keys(attributes)) {
    if (!name.startsWith("xmlns")) continue;
    if (name !== "xmlns" && name[5] !== ":") continue;
    scope ??= new Map(outer);
    scope.set(name.slice(6), attributes[name] ?? "");
  }
  return scope ?? outer;
}
