import type { Tree } from "./tree.ts";

/** The elements that stand to a chosen one as a combinator says: below it, its children, right after it, after it. */
export function step(tree: Tree, chosen: Uint8Array, combinator: string): Uint8Array {
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

/** The elements to which a chosen one stands as a combinator says. */
export function stepBack(tree: Tree, chosen: Uint8Array, combinator: string): Uint8Array {
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
