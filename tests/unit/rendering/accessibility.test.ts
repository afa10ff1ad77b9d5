import { expect, it } from "vitest";
import { accessibilityAction } from "../../../core/rendering/actions/accessibility.ts";
import type { Page } from "../../../core/rendering/page/page.ts";

/** A page whose DevTools answer with these nodes. */
const pageOf = (nodes: readonly object[]): Page =>
  ({ call: () => Promise.resolve({ nodes }) }) as Partial<Page> as Page;

const facts = { title: "", url: null, base: null, drawable: true };
const treeOf = (nodes: readonly object[], interestingOnly = true): Promise<unknown> =>
  accessibilityAction({ interestingOnly })(pageOf(nodes), facts, new AbortController().signal);

const node = (nodeId: string, role: string, name: string, more: object = {}): object => ({
  nodeId,
  ignored: false,
  role: { value: role },
  name: { value: name },
  ...more,
});

const property = (name: string, value: unknown): object => ({ name, value: { value } });

it("tells each property in its own way, and nothing that does not hold", async () => {
  const properties = [
    property("checked", "mixed"),
    property("pressed", "false"),
    property("disabled", true),
    property("required", false),
    property("invalid", "false"),
    property("hasPopup", "menu"),
    property("level", 2),
    property("roledescription", "toggle"),
    property("focused", true),
  ];
  expect(await treeOf([node("1", "switch", "On", { properties, value: { value: 3 } })])).toEqual({
    role: "switch",
    name: "On",
    value: 3,
    roledescription: "toggle",
    disabled: true,
    focused: true,
    checked: "mixed",
    pressed: false,
    level: 2,
    haspopup: "menu",
  });
});

it("lifts the children of what says nothing, and leaves out what is hidden or ignored", async () => {
  const nodes = [
    node("1", "RootWebArea", "T", { childIds: ["2", "5", "6", "missing"] }),
    node("2", "generic", "", { childIds: ["3", "4"] }),
    node("3", "StaticText", "a"),
    node("4", "StaticText", "b", { ignored: true }),
    node("5", "StaticText", "c", { properties: [property("hidden", true)] }),
    node("6", "button", "Go", { childIds: ["7"] }),
    node("7", "StaticText", "Go"),
  ];
  expect(await treeOf(nodes)).toEqual({
    role: "RootWebArea",
    name: "T",
    children: [
      { role: "StaticText", name: "a" },
      { role: "button", name: "Go" },
    ],
  });
});

it("refuses a tree that is too deep to be written, and takes one whose depth says nothing", async () => {
  const depth = 20_000;
  const deep = (role: string): object[] =>
    Array.from({ length: depth }, (_, n) =>
      node(String(n), role, "h", { childIds: n + 1 < depth ? [String(n + 1)] : [] }),
    );
  expect(await treeOf(deep("heading"))).toEqual({ role: "heading", name: "h" });
  expect(await treeOf(deep("generic"))).toEqual({
    role: "generic",
    name: "h",
    children: [{ role: "generic", name: "h" }],
  });
  await expect(treeOf(deep("heading"), false)).rejects.toMatchObject({ kind: "page_too_large" });
});
