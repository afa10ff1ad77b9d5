import type { Background, LongTask } from "../../ports.ts";
import type { Attributes, HtmlHandler } from "../markdown/html-events.ts";
import { isHtml } from "./static-page.ts";

/** A document as it came. */
export type ShellRequest = {
  readonly bytes: Uint8Array;
  readonly contentType: string;
};

/** Letters of a page that only its scripts fill: a name, "Loading …", a note on cookies. */
const LETTERS = 200;

/**
 * The elements that frameworks fill: React's `root`, Vue's `app`, and those of Next.js, Nuxt, Gatsby, Quasar and Angular, as the templates
 * of their documentation name them.
 */
const mounts = new Set("root app __next __nuxt ___gatsby q-app react-root app-root".split(" "));

/** Elements that a reader sees nothing of, or nothing before a script has drawn it. */
const unseen = new Set("head script style noscript template svg canvas iframe object".split(" "));

/** Elements that show something without a text. */
const shows = new Set(["img", "picture", "video", "audio", "math"]);

/**
 * Whether a document says so little before its scripts run that a reader sees next to nothing: fewer than 200 letters, or
 * nothing in the element that a framework fills. A document without scripts is none, unless it sends its readers elsewhere at once.
 */
export const emptyShell: LongTask<ShellRequest, boolean> = {
  name: "rendering/empty-shell",
  async load() {
    const { decodePage } = await import("../../text/decode-page.ts");
    const { isVoid, readHtml } = await import("../markdown/html-events.ts");
    return function* ({ bytes, contentType }) {
      const shell = shellReader(isVoid);
      yield* readHtml(yield* decodePage(bytes, contentType), shell.handler);
      return shell.isEmpty();
    };
  },
};

/** Whether only its scripts fill a document. */
export async function isEmptyShell(
  { background }: { readonly background: Background },
  { bytes, contentType }: ShellRequest,
  signal: AbortSignal,
): Promise<boolean> {
  if (!isHtml(contentType)) return false;
  // A thread gets bytes for good.
  return background.run(emptyShell, { bytes: new Uint8Array(bytes), contentType }, signal);
}

/** Whether a `meta` leads to another address at once (HTML, "shared declarative refresh steps"). */
function leadsElsewhere({ "http-equiv": pragma = "", content = "" }: Attributes): boolean {
  if (!/^refresh$/iu.test(pragma)) return false;
  return /^\s*0*(?:\.\d*)?\s*[;,\s]\s*(?:url\s*=)?\s*\S/iu.test(content);
}

function shellReader(isVoid: (name: string) => boolean): {
  readonly handler: HtmlHandler;
  readonly isEmpty: () => boolean;
} {
  let letters = 0;
  let hasScript = false;
  let hasEmptyMount = false;
  let leaves = false;
  /** Unseen elements that are open. */
  let hidden = 0;
  /** The depth of the element that a framework fills, and what had been seen before it; null outside of one. */
  let mount: { readonly depth: number; readonly letters: number } | null = null;
  let depth = 0;
  return {
    isEmpty: () => leaves || (hasScript && (letters < LETTERS || hasEmptyMount)),
    handler: {
      open(name, attributes) {
        const { id = "", type = "" } = attributes;
        if (name === "meta") leaves ||= leadsElsewhere(attributes);
        if (name === "script") hasScript ||= /^(?:module|.*(?:java|ecma)script|)$/iu.test(type);
        if (hidden === 0 && shows.has(name)) letters += 1;
        if (isVoid(name)) return;
        depth += 1;
        if (unseen.has(name)) hidden += 1;
        else if (mount === null && (mounts.has(id) || mounts.has(name))) mount = { depth, letters };
      },
      close(name) {
        if (mount?.depth === depth) {
          hasEmptyMount ||= mount.letters === letters;
          mount = null;
        }
        depth -= 1;
        if (unseen.has(name)) hidden -= 1;
      },
      text(text) {
        if (hidden === 0) letters += text.replaceAll(/\s/gu, "").length;
      },
    },
  };
}
