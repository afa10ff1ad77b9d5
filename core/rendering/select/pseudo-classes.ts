import type { Tree } from "./tree.ts";

/** Says of an element, by its index, whether it is meant. */
type Test = (index: number) => boolean;

/** Makes a test for the elements of one tree. */
type TestOf = (tree: Tree) => Test;

const isOption = new Set(["checkbox", "radio"]);

const simple: ReadonlyMap<string, TestOf> = new Map<string, TestOf>([
  ["root", () => (index) => index === 0],
  ["empty", (tree) => (index) => tree[index]?.children.every((child) => child === "") === true],
  ["link", linked],
  ["any-link", linked],
  [
    "checked",
    (tree) => (index) => {
      const { name = "", attributes = {} } = tree[index] ?? {};
      if (name === "option") return Object.hasOwn(attributes, "selected");
      const type = (attributes["type"] ?? "").toLowerCase();
      return name === "input" && isOption.has(type) && Object.hasOwn(attributes, "checked");
    },
  ],
  ["first-child", (tree) => at(tree, "first", 0, 1)],
  ["last-child", (tree) => at(tree, "last", 0, 1)],
  ["first-of-type", (tree) => at(tree, "first of type", 0, 1)],
  ["last-of-type", (tree) => at(tree, "last of type", 0, 1)],
  ["only-child", (tree) => both(at(tree, "first", 0, 1), at(tree, "last", 0, 1))],
  ["only-of-type", (tree) => both(at(tree, "first of type", 0, 1), at(tree, "last of type", 0, 1))],
]);

const counted: ReadonlyMap<string, From> = new Map<string, From>([
  ["nth-child", "first"],
  ["nth-last-child", "last"],
  ["nth-of-type", "first of type"],
  ["nth-last-of-type", "last of type"],
]);

/** Returns the test of a pseudo-class that markup alone tells; null for any other one, and for a wrong argument. */
export function pseudoClass(name: string, argument: string | null): TestOf | null {
  if (argument === null) return simple.get(name) ?? null;
  const from = counted.get(name);
  const formula = from === undefined ? null : formulaOf(argument);
  if (from === undefined || formula === null) return null;
  return (tree) => at(tree, from, ...formula);
}

function linked(tree: Tree): Test {
  return (index) => {
    const { name = "", attributes = {} } = tree[index] ?? {};
    return (name === "a" || name === "area") && Object.hasOwn(attributes, "href");
  };
}

function both(one: Test, other: Test): Test {
  return (index) => one(index) && other(index);
}

/** `an+b` (CSS, "The An+B microsyntax"). */
function formulaOf(text: string): [step: number, offset: number] | null {
  const plain = text.trim().toLowerCase();
  if (plain === "odd") return [2, 1];
  if (plain === "even") return [2, 0];
  const alone = /^[+-]?\d{1,9}$/u.exec(plain);
  if (alone !== null) return [0, Number(plain)];
  const read = /^(?<step>[+-]?\d{0,9})n(?:\s*(?<sign>[+-])\s*(?<offset>\d{1,9}))?$/u.exec(plain);
  if (read?.groups === undefined) return null;
  const { step = "", sign = "+", offset = "0" } = read.groups;
  const by = /\d/u.test(step) ? Number(step) : Number(`${step}1`);
  return [by, Number(`${sign}${offset}`)];
}

/** The end from which siblings are counted, and whether only those of the same name count. */
type From = "first" | "last" | "first of type" | "last of type";

/** Whether an element's place is `step * n + offset` for a whole `n` from 0 on. */
function at(tree: Tree, from: From, step: number, offset: number): Test {
  const places = placesOf(tree, from);
  return (index) => {
    const over = (places[index] ?? 0) - offset;
    return step === 0 ? over === 0 : over % step === 0 && over / step >= 0;
  };
}

/** Returns the place of each element among its siblings, from 1 on. */
function placesOf(tree: Tree, from: From): Uint32Array {
  const places = new Uint32Array(tree.length);
  const counts = new Map<string | number, number>();
  const isFromEnd = from.startsWith("last");
  for (let i = 0; i < tree.length; i++) {
    const index = isFromEnd ? tree.length - 1 - i : i;
    const { parent = -1, name = "" } = tree[index] ?? {};
    const key = from.endsWith("type") ? `${parent} ${name}` : parent;
    const place = (counts.get(key) ?? 0) + 1;
    counts.set(key, place);
    places[index] = place;
  }
  return places;
}
