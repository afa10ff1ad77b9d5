import { utf8 } from "../../crypto/encoding.ts";
import type { LongTask } from "../../ports.ts";

/** A document of HTML, and selectors of the parts that are wanted and not wanted of its body. */
export type PartsRequest = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly contentType: string;
  readonly includeTags: readonly string[];
  readonly excludeTags: readonly string[];
  /** Whether there are no bytes where a document has none of the wanted parts. @default it is an empty document */
  readonly isNeeded?: boolean;
};

/** Characters of HTML that may be left: more than any document has that is read. */
const CHARACTERS = 32 * 1024 * 1024;

/** Leaves the wanted parts of a document, as a document of UTF-8 with the head that it had. */
export const selectParts: LongTask<PartsRequest, Uint8Array<ArrayBuffer>> = {
  name: "rendering/select-parts",
  async load() {
    const { decodePage } = await import("../../text/decode-page.ts");
    const { readTree } = await import("./tree.ts");
    const { htmlOf } = await import("./html-of.ts");
    const { choose, parseSelector } = await import("./selector.ts");
    return function* ({ bytes, contentType, includeTags, excludeTags, isNeeded }) {
      const tree = yield* readTree(yield* decodePage(bytes, contentType));
      const without = yield* choose(
        tree,
        excludeTags.flatMap((selector) => parseSelector("excludeTags", selector)),
      );
      const budget = { characters: CHARACTERS, without };
      if (includeTags.length === 0) return utf8(yield* htmlOf(tree, 0, budget, true));
      const wanted = yield* choose(
        tree,
        includeTags.flatMap((selector) => parseSelector("includeTags", selector)),
      );
      let head = "";
      const parts: string[] = [];
      // Elements inside a part that was taken or left out are done with it.
      const isDone = new Uint8Array(tree.length);
      for (const [index, { name, parent }] of tree.entries()) {
        if (isDone[parent] === 1 || without[index] === 1) isDone[index] = 1;
        else if (name === "head" && parent === 0) head = yield* htmlOf(tree, index, budget, true);
        else if (wanted[index] === 1) {
          parts.push(yield* htmlOf(tree, index, budget, index > 0 && name !== "body"));
          isDone[index] = 1;
        }
      }
      if (isNeeded === true && parts.length === 0) return new Uint8Array();
      return utf8(`<html>${head}<body>${parts.join("")}</body></html>`);
    };
  },
};
