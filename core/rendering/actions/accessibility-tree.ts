import { ApiError } from "../../http/api-error.ts";
import type { LongTask } from "../../ports.ts";

/** A node of the accessibility tree, with the names and meaning of Puppeteer's. */
export interface AccessibilityNode {
  readonly role: string;
  readonly children?: readonly AccessibilityNode[];
  readonly [property: string]: unknown;
}

/** A node as DevTools has it. */
interface RawNode {
  readonly nodeId: string;
  readonly ignored: boolean;
  readonly role?: { readonly value?: string };
  readonly name?: { readonly value?: unknown };
  readonly value?: { readonly value?: unknown };
  readonly description?: { readonly value?: unknown };
  readonly properties?: readonly { readonly name: string; readonly value: { value?: unknown } }[];
  readonly childIds?: readonly string[];
  readonly backendDOMNodeId?: number;
}

interface TreeNode {
  readonly raw: RawNode;
  readonly role: string;
  readonly name: string;
  readonly properties: ReadonlyMap<string, unknown>;
  readonly children: TreeNode[];
  /** Whether anything below it takes the focus. */
  holdsFocusable: boolean;
}

/** Properties by how they are told: words as they are, flags when they hold, numbers, and words other than "false". */
const texts = ["keyshortcuts", "roledescription", "valuetext"];
const flags =
  "disabled expanded focused modal multiline multiselectable readonly required selected".split(" ");
const triple = ["checked", "pressed"];
const numbers = ["level", "valuemax", "valuemin"];
const tokens = ["autocomplete", "haspopup", "invalid", "orientation"];

const controls = new Set(
  "button checkbox ColorWell combobox DisclosureTriangle listbox menu menubar menuitem menuitemcheckbox menuitemradio radio scrollbar searchbox slider spinbutton switch tab textbox tree treeitem".split(
    " ",
  ),
);
const leaves = new Set(
  "doc-cover graphics-symbol img image Meter scrollbar slider separator progressbar".split(" "),
);
const landmarks = new Set(
  "banner complementary contentinfo form main navigation region search".split(" "),
);

/** The nodes of a page, and which of them the tree shows. */
export type TreeRequest = {
  /** JSON of what DevTools answers: an object with all `nodes`. */
  readonly text: string;
  /** DevTools' number of the element whose tree it is; null for the page. */
  readonly root: number | null;
  readonly interestingOnly: boolean;
};

/** Makes the JSON of an accessibility tree, which is `null` when there is nothing. */
export const accessibilityTree: LongTask<TreeRequest, string> = {
  name: "rendering/accessibility-tree",
  load: () => Promise.resolve(treeText),
};

function* treeText({ text, root, interestingOnly }: TreeRequest): Generator<void, string, void> {
  const { nodes } = JSON.parse(text) as { readonly nodes: readonly RawNode[] };
  const tree = yield* treeOf(nodes);
  const top = root === null || tree === null ? tree : elementIn(tree, root);
  if (top === null) return "null";
  const kept = interestingOnly ? yield* interestingNodes(top) : null;
  const [first] = yield* written(top, kept);
  yield;
  return JSON.stringify(first ?? null);
}

/** The node of an element; null when it has none. */
function elementIn(tree: TreeNode, element: number): TreeNode | null {
  for (const one of everyNode(tree)) if (one.raw.backendDOMNodeId === element) return one;
  return null;
}

/** Nodes after which others go on: a few milliseconds of work. */
const SLICE = 512;

/** The same values, with a pause after each slice of them. */
function* sliced<V>(values: Iterable<V>, use: (value: V) => void): Generator<void, void, void> {
  let count = 0;
  for (const value of values) {
    use(value);
    count += 1;
    if (count % SLICE === 0) yield;
  }
}

function* treeOf(nodes: readonly RawNode[]): Generator<void, TreeNode | null, void> {
  const all = new Map<string, TreeNode>();
  yield* sliced(nodes, (raw) => all.set(raw.nodeId, nodeOf(raw)));
  yield* sliced(all.values(), ({ raw, children }) => {
    for (const id of raw.childIds ?? []) {
      const child = all.get(id);
      if (child !== undefined) children.push(child);
    }
  });
  const [first] = all.values();
  if (first === undefined) return null;
  // From the leaves up: a node comes after its parent here.
  yield* sliced([...everyNode(first)].toReversed(), (node) => {
    node.holdsFocusable = node.children.some((one) => one.holdsFocusable || isFocusable(one));
  });
  return first;
}

function nodeOf(raw: RawNode): TreeNode {
  return {
    raw,
    role: raw.role?.value ?? "Unknown",
    name: textOf(raw.name?.value),
    properties: new Map(
      (raw.properties ?? []).map(({ name, value }) => [name.toLowerCase(), value.value]),
    ),
    children: [],
    holdsFocusable: false,
  };
}

function* everyNode(top: TreeNode): Generator<TreeNode> {
  const left = [top];
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    yield node;
    for (const child of node.children) left.push(child);
  }
}

/** The nodes that say something to a user, beside the top one. */
function* interestingNodes(top: TreeNode): Generator<void, Set<TreeNode>, void> {
  const kept = new Set([top]);
  const left: (readonly [node: TreeNode, insideControl: boolean])[] = [[top, false]];
  let count = 0;
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [node, insideControl] = next;
    count += 1;
    if (count % SLICE === 0) yield;
    if (isInteresting(node, insideControl)) kept.add(node);
    if (isLeaf(node)) continue;
    const inside = insideControl || controls.has(node.role);
    for (const child of node.children) left.push([child, inside]);
  }
  return kept;
}

function isInteresting(node: TreeNode, insideControl: boolean): boolean {
  const { raw, role, properties, name } = node;
  if (role === "Ignored" || raw.ignored || properties.get("hidden") === true) return false;
  if (landmarks.has(role)) return true;
  const live = properties.get("live");
  if (
    isFocusable(node) ||
    properties.get("busy") === true ||
    (typeof live === "string" && live !== "off") ||
    textOf(properties.get("roledescription")) !== "" ||
    controls.has(role)
  )
    return true;
  return !insideControl && isLeaf(node) && name !== "";
}

/** Whether a user meets a node as one thing, whatever it is made of. */
function isLeaf(node: TreeNode): boolean {
  const { role, name, children, properties, holdsFocusable } = node;
  if (children.length === 0 || leaves.has(role)) return true;
  if (properties.get("editable") === "plaintext" || ["LineBreak", "StaticText"].includes(role))
    return true;
  if (holdsFocusable) return false;
  return name !== "" && role === "heading";
}

function isFocusable({ properties }: TreeNode): boolean {
  return properties.get("focusable") === true || properties.get("editable") === "richtext";
}

/** Levels of a tree: deeper ones cannot be written as JSON everywhere. */
const LEVELS = 500;

/** A node as it is answered; one that is left out gives its children instead. Made from the leaves up, without recursion. */
function* written(
  top: TreeNode,
  kept: ReadonlySet<TreeNode> | null,
): Generator<void, AccessibilityNode[], void> {
  const made = new Map<TreeNode, { nodes: AccessibilityNode[]; levels: number }>();
  yield* sliced([...everyNode(top)].toReversed(), (node) => {
    const below = kept !== null && isLeaf(node) ? [] : node.children;
    const parts = below.map((child) => made.get(child) ?? { nodes: [], levels: 0 });
    const children = parts.flatMap(({ nodes }) => nodes);
    const levels = parts.reduce((most, part) => Math.max(most, part.levels), 0);
    if (levels > LEVELS)
      throw new ApiError("page_too_large", {
        message: `The accessibility tree has more than ${LEVELS} levels`,
      });
    const nodes =
      kept !== null && !kept.has(node)
        ? children
        : [{ ...described(node), ...(children.length === 0 ? {} : { children }) }];
    made.set(node, { nodes, levels: nodes === children ? levels : levels + 1 });
  });
  return made.get(top)?.nodes ?? [];
}

function described({ raw, role, name, properties }: TreeNode): AccessibilityNode {
  const value = raw.value?.value;
  const description = textOf(raw.description?.value);
  return {
    role,
    ...(name === "" ? {} : { name }),
    ...(value === undefined || value === "" ? {} : { value }),
    ...(description === "" ? {} : { description }),
    ...states(role, properties),
  };
}

function states(role: string, properties: TreeNode["properties"]): Record<string, unknown> {
  const held: Record<string, unknown> = {};
  const tell = (
    names: readonly string[],
    read: (value: unknown, name: string) => unknown,
  ): void => {
    for (const name of names) {
      const told = properties.has(name) ? read(properties.get(name), name) : undefined;
      if (told !== undefined) held[name] = told;
    }
  };
  tell(texts, (value) => textOf(value) || undefined);
  // The page as a whole has the focus whenever nothing in it has.
  tell(flags, (value, name) =>
    value === true && !(name === "focused" && role === "RootWebArea") ? true : undefined,
  );
  tell(triple, (value) => (value === "mixed" ? value : value === "true"));
  tell(numbers, (value) => value);
  tell(tokens, (value) => (value === "" || value === "false" ? undefined : value));
  return held;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
