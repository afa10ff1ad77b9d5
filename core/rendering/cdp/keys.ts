/** A key as DevTools presses it: its code, its old number, and the text that it writes. */
interface Key {
  readonly code: string;
  readonly number: number;
  readonly text?: string;
}

/** The keys that `press` knows, by the names of `KeyboardEvent.key`. */
export const keyNames = [
  "Enter",
  "Tab",
  "Escape",
  "Backspace",
  "Delete",
  "Space",
  "ArrowLeft",
  "ArrowUp",
  "ArrowRight",
  "ArrowDown",
  "Home",
  "End",
  "PageUp",
  "PageDown",
] as const;

/** How each key is pressed. */
export const keys: Readonly<Record<(typeof keyNames)[number], Key>> = {
  Enter: { code: "Enter", number: 13, text: "\r" },
  Tab: { code: "Tab", number: 9 },
  Escape: { code: "Escape", number: 27 },
  Backspace: { code: "Backspace", number: 8 },
  Delete: { code: "Delete", number: 46 },
  Space: { code: "Space", number: 32, text: " " },
  ArrowLeft: { code: "ArrowLeft", number: 37 },
  ArrowUp: { code: "ArrowUp", number: 38 },
  ArrowRight: { code: "ArrowRight", number: 39 },
  ArrowDown: { code: "ArrowDown", number: 40 },
  Home: { code: "Home", number: 36 },
  End: { code: "End", number: 35 },
  PageUp: { code: "PageUp", number: 33 },
  PageDown: { code: "PageDown", number: 34 },
};
