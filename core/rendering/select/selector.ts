import {
  AttributeAction,
  type AttributeSelector,
  isTraversal,
  parse,
  type Selector,
  SelectorType,
} from "css-what";
import { invalidRequest } from "../../http/api-error.ts";
import { pseudoClass } from "./pseudo-classes.ts";
import type { Tree } from "./tree.ts";

/** A list of selectors that has been read. */
export type ParsedSelector = readonly (readonly Selector[])[];

/** For each element of a tree 1 when it is meant, else 0. */
export type Chosen = Uint8Array;

/**
 * Reads a list of CSS selectors.
 * @throws ApiError `invalid_request` naming the field, for invalid selectors and those that only a browser can evaluate
 */
export function parseSelector(field: string, text: string): ParsedSelector {
  const parsed = read(text);
  if (parsed === null) throw invalidRequest(`${field}: "${text.slice(0, 80)}" is not a selector`);
  const wrong = firstUnknown(parsed);
  if (wrong === null) return parsed;
  throw invalidRequest(
    `${field}: "${wrong.slice(0, 80)}" is not known without a browser: leave out "render": false`,
  );
}

function read(text: string): ParsedSelector | null {
  try {
    const parsed = parse(text);
    return parsed.length > 0 && parsed.every(isWhole) ? parsed : null;
  } catch {
    return null;
  }
}

function isWhole(tokens: readonly Selector[]): boolean {
  const last = tokens.at(-1);
  return last !== undefined && !isTraversal(last);
}

/** Returns the first part of a selector that cannot be evaluated here; null when all can. */
function firstUnknown(list: ParsedSelector, inHas = false): string | null {
  for (const tokens of list) {
    if (!inHas && tokens[0] !== undefined && isTraversal(tokens[0])) return tokens[0].type;
    for (const token of tokens) {
      const found = unknownIn(token);
      if (found !== null) return found;
    }
  }
  return null;
}

function unknownIn(token: Selector): string | null {
  if (token.type === SelectorType.PseudoElement) return `::${token.name}`;
  if (token.type === SelectorType.Parent || token.type === SelectorType.ColumnCombinator)
    return token.type;
  if ("namespace" in token && token.namespace !== null && token.namespace !== "*")
    return `${token.namespace}|`;
  if (token.type === SelectorType.Attribute && token.action === AttributeAction.Not) return "!=";
  if (token.type !== SelectorType.Pseudo) return null;
  const { name, data } = token;
  if (Array.isArray(data))
    return lists.has(name) ? firstUnknown(data, name === "has") : `:${name}()`;
  return pseudoClass(name, data) === null ? `:${name}` : null;
}

const lists = new Set(["has", "is", "matches", "not", "where"]);

/**
 * Finds the elements that a list of selectors means, in time that grows with the elements times the length of the
 * selector: each part of it is one pass over the whole tree. It yields where others may go on.
 */
export function* choose(tree: Tree, list: ParsedSelector): Generator<void, Chosen, void> {
  const found = new Uint8Array(tree.length);
  for (const tokens of list) {
    let chosen = everything(tree);
    for (const token of tokens) {
      if (isTraversal(token)) chosen = step(tree, chosen, token.type);
      else yield* narrow(tree, chosen, token);
      yield;
    }
    for (let i = 0; i < found.length; i++) if (chosen[i] === 1) found[i] = 1;
  }
  return found;
}

function everything(tree: Tree): Chosen {
  return new Uint8Array(tree.length).fill(1);
}

/** Elements that are looked at between two yields. */
const SLICE = 16_384;

/** Takes away what one simple selector does not mean. */
function* narrow(tree: Tree, chosen: Chosen, token: Selector): Generator<void, void, void> {
  const test = yield* testOf(tree, token);
  for (let i = 0; i < chosen.length; i++) {
    if (chosen[i] === 1 && !test(i)) chosen[i] = 0;
    if (i % SLICE === SLICE - 1) yield;
  }
}

type Test = (index: number) => boolean;

function* testOf(tree: Tree, token: Selector): Generator<void, Test, void> {
  if (token.type === SelectorType.Tag) {
    const name = token.name.toLowerCase();
    return (index) => tree[index]?.name === name;
  }
  if (token.type === SelectorType.Attribute) return attributeTest(tree, token);
  if (token.type !== SelectorType.Pseudo) return () => true;
  const { name, data } = token;
  if (Array.isArray(data)) {
    const inner = yield* name === "has" ? chooseAround(tree, data) : choose(tree, data);
    const wanted = name === "not" ? 0 : 1;
    return (index) => inner[index] === wanted;
  }
  const of = pseudoClass(name, data);
  return of === null ? () => false : of(tree);
}

/**
 * Returns the elements from which a relative selector (`:has()`) finds something: its parts are gone through from the end.
 */
function* chooseAround(tree: Tree, list: ParsedSelector): Generator<void, Chosen, void> {
  const found = new Uint8Array(tree.length);
  for (const tokens of list) {
    const first = tokens[0];
    const path: readonly Selector[] =
      first !== undefined && isTraversal(first)
        ? tokens
        : [{ type: SelectorType.Descendant }, ...tokens];
    let chosen = everything(tree);
    for (const token of path.toReversed()) {
      if (isTraversal(token)) chosen = stepBack(tree, chosen, token.type);
      else yield* narrow(tree, chosen, token);
      yield;
    }
    for (let i = 0; i < found.length; i++) if (chosen[i] === 1) found[i] = 1;
  }
  return found;
}

/** Attributes whose values HTML compares without regard to case. */
const caseless = new Set(
  (
    "accept accept-charset align alink axis bgcolor charset checked clear codetype color compact declare defer dir " +
    "direction disabled enctype face frame hreflang http-equiv lang language link media method multiple nohref noresize " +
    "noshade nowrap readonly rel rev rules scope scrolling selected shape target text type valign valuetype vlink"
  ).split(" "),
);

function attributeTest(tree: Tree, token: AttributeSelector): Test {
  const name = token.name.toLowerCase();
  const ignoresCase =
    token.ignoreCase === true || (token.ignoreCase === null && caseless.has(name));
  const wanted = ignoresCase ? token.value.toLowerCase() : token.value;
  const compare = comparisons[token.action] ?? (() => false);
  return (index) => {
    const attributes = tree[index]?.attributes ?? {};
    if (!Object.hasOwn(attributes, name)) return false;
    const value = attributes[name] ?? "";
    return compare(ignoresCase ? value.toLowerCase() : value, wanted);
  };
}

const comparisons: Readonly<Record<string, (value: string, wanted: string) => boolean>> = {
  exists: () => true,
  equals: (value, wanted) => value === wanted,
  start: (value, wanted) => wanted !== "" && value.startsWith(wanted),
  end: (value, wanted) => wanted !== "" && value.endsWith(wanted),
  any: (value, wanted) => wanted !== "" && value.includes(wanted),
  hyphen: (value, wanted) => value === wanted || value.startsWith(`${wanted}-`),
  element: hasWord,
};

/** Whether a value has a word, without taking apart values that do not have it at all. */
function hasWord(value: string, word: string): boolean {
  if (word === "" || /\s/u.test(word) || !value.includes(word)) return false;
  return value.split(/[\t\n\f\r ]+/u).includes(word);
}

/**
 * Returns the elements that stand to a chosen one as a combinator says: below it, its children, right after it, after it.
 */
function step(tree: Tree, chosen: Uint8Array, combinator: string): Uint8Array {
  const found = new Uint8Array(tree.length);
  const isNear = combinator === "child" || combinator === "adjacent";
  const isSideways = combinator === "adjacent" || combinator === "sibling";
  // In the order of the document: what an element goes by has been decided before it.
  for (let i = 0; i < found.length; i++) {
    const from = (isSideways ? tree[i]?.previous : tree[i]?.parent) ?? -1;
    if (from >= 0 && (chosen[from] === 1 || (!isNear && found[from] === 1))) found[i] = 1;
  }
  return found;
}

/** Returns the elements to which a chosen one stands as a combinator says. */
function stepBack(tree: Tree, chosen: Uint8Array, combinator: string): Uint8Array {
  const found = new Uint8Array(tree.length);
  const isNear = combinator === "child" || combinator === "adjacent";
  const isSideways = combinator === "adjacent" || combinator === "sibling";
  for (let i = found.length - 1; i >= 0; i--) {
    if (chosen[i] !== 1 && (isNear || found[i] !== 1)) continue;
    const to = (isSideways ? tree[i]?.previous : tree[i]?.parent) ?? -1;
    if (to >= 0) found[to] = 1;
  }
  return found;
}
