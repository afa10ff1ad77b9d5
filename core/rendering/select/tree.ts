import { ApiError } from "../../http/api-error.ts";
import { type Attributes, isVoid, readHtml } from "../markdown/html-events.ts";

/** One element of a document that was read without a browser. */
export interface TreeElement {
  readonly name: string;
  attributes: Attributes;
  /** The index of its parent, and of the element before it below that; -1 if missing. */
  readonly parent: number;
  readonly previous: number;
  /** Its content: text, and indices of elements. */
  readonly children: (string | number)[];
}

/** The elements of a document in its order: an element comes before everything in it. The first is `html`. */
export type Tree = readonly TreeElement[];

/** Elements of a document: each takes memory. */
const ELEMENTS = 200_000;

const headContent = new Set(
  "base basefont bgsound link meta noscript script style template title".split(" "),
);
const startsWithBreak = new Set(["listing", "pre", "textarea"]);
const tableParts = new Set("caption colgroup tbody tfoot thead".split(" "));

/**
 * Reads HTML as a tree, with the elements that authors leave out: `html`, `head`, `body`, and `tbody`. It yields where
 * others may go on.
 *
 * @throws ApiError `page_too_large`
 */
export function* readTree(html: string): Generator<void, Tree, void> {
  const growing = growTree();
  const parts = documentParts(growing);
  yield* readHtml(html, {
    open(name, attributes) {
      if (parts.open(name, attributes)) return;
      const inside = growing.innermost();
      if (inside === "tbody" && tableParts.has(name)) growing.leave(inside);
      if (inside === "table" && name === "tr") growing.open("tbody", {});
      growing.open(name, attributes);
    },
    close(name) {
      if (name !== "html" && name !== "body") growing.leave(name);
    },
    text(text) {
      if (parts.text(text)) growing.text(text);
    },
  });
  parts.end();
  return growing.tree;
}

/** A tree, and the elements that are open. */
interface GrowingTree {
  readonly tree: Tree;
  /** The name of the innermost open element. */
  innermost(): string;
  /** Adds an element, and opens it unless it can have no content; its index. */
  open(name: string, attributes: Attributes): number;
  /** Adds to what stands in an element that had been left. */
  enter(index: number): void;
  /** Leaves the innermost element of a name, if there is one. */
  leave(name: string): void;
  leaveAll(): void;
  text(text: string): void;
}

function growTree(): GrowingTree {
  const tree: TreeElement[] = [];
  const stack: number[] = [];
  const lastChild: number[] = [];
  const innermost = (): string => tree[stack.at(-1) ?? -1]?.name ?? "";
  return {
    tree,
    innermost,
    open(name, attributes) {
      if (tree.length === ELEMENTS)
        throw new ApiError("page_too_large", {
          message: `The page has more than ${ELEMENTS} elements`,
        });
      const parent = stack.at(-1) ?? -1;
      const index = tree.length;
      tree.push({ name, attributes, parent, previous: lastChild[parent] ?? -1, children: [] });
      tree[parent]?.children.push(index);
      if (parent >= 0) lastChild[parent] = index;
      if (!isVoid(name)) stack.push(index);
      return index;
    },
    enter: (index) => void stack.push(index),
    leave(name) {
      const at = stack.findLastIndex((index) => tree[index]?.name === name);
      if (at > 0) stack.length = at;
    },
    leaveAll: () => void stack.splice(1),
    text(text) {
      const children = tree[stack.at(-1) ?? 0]?.children ?? [];
      const before = children.at(-1);
      if (typeof before === "string") children[children.length - 1] = before + text;
      // A leading line break does not belong to the content of these elements.
      else if (before === undefined && startsWithBreak.has(innermost()))
        children.push(text.replace(/^\n/u, ""));
      else children.push(text);
    },
  };
}

/** Places a document's elements in its head or body, whether or not their tags are there. */
interface DocumentParts {
  /** Sees to the part that an element stands in; true when it is a part itself. */
  open(name: string, attributes: Attributes): boolean;
  /** Likewise for text; false when it stands between the parts. */
  text(text: string): boolean;
  end(): void;
}

function documentParts(growing: GrowingTree): DocumentParts {
  const root = growing.open("html", {});
  let head = -1;
  let body = -1;
  const isBefore = (): boolean => body < 0 && /^(?:html|head)$/u.test(growing.innermost());
  const openHead = (attributes: Attributes): void => {
    if (growing.innermost() === "head") return;
    if (head < 0) head = growing.open("head", attributes);
    else growing.enter(head);
  };
  const openBody = (attributes: Attributes): void => {
    if (head < 0) openHead({});
    growing.leaveAll();
    body = growing.open("body", attributes);
  };
  const merge = (index: number, attributes: Attributes): void => {
    const element = growing.tree[index];
    if (element !== undefined) element.attributes = { ...attributes, ...element.attributes };
  };
  return {
    open(name, attributes) {
      if (name === "html") merge(root, attributes);
      else if (name === "head") {
        if (head < 0 && body < 0) openHead(attributes);
      } else if (name === "body") {
        if (body < 0) openBody(attributes);
        else merge(body, attributes);
      } else {
        if (isBefore()) {
          if (headContent.has(name)) openHead({});
          else openBody({});
        }
        return false;
      }
      return true;
    },
    text(text) {
      if (!isBefore()) return true;
      if (text.trim() === "") return false;
      openBody({});
      return true;
    },
    end() {
      if (body < 0) openBody({});
    },
  };
}
