import { expect } from "vitest";
import type { Platform } from "../../core/ports.ts";
import { documentMarkdown } from "../../core/rendering/input/markdown.ts";
import { staticMarkdown } from "../../core/rendering/static/static-markdown.ts";
import type { Suite } from "./suite.ts";

const page = (html: string) => ({ html, base: null, frontmatter: false });
const large = "<p>Some <b>bold</b> text &amp; more.</p>\n".repeat(50_000);
const never = new AbortController().signal;
const request = (body: unknown) => ({
  bytes: new TextEncoder().encode(JSON.stringify(body)),
  allowHosts: [],
  caps: {},
  unsafeRegex: false,
  frontmatter: false,
  hasEngine: false,
});

/** What every `Background` shows. */
export const backgroundSuite: Suite<Platform> = {
  port: "Background",
  cases: [
    {
      name: "run() gives what the task returns, several at a time and one after the other",
      async run({ background }) {
        const texts = Array.from({ length: 12 }, (_, n) => `Text ${n}`);
        const made = texts.map((text) =>
          background.run(documentMarkdown, page(`<h1>${text}</h1>`), never),
        );
        expect(await Promise.all(made)).toEqual(texts.map((text) => `# ${text}`));
        expect(await background.run(documentMarkdown, page("<p>again"), never)).toBe("again");
      },
    },
    {
      name: "others go on while a task runs",
      async run({ background, system }) {
        const over = new AbortController();
        const made = background
          .run(documentMarkdown, page(large), never)
          .finally(() => over.abort());
        let turns = 0;
        for (; !over.signal.aborted; turns++) await system.sleep(0);
        expect(turns).toBeGreaterThan(5);
        expect((await made).length).toBeGreaterThan(1_000_000);
      },
    },
    {
      name: "run() hands bytes over and takes them back",
      async run({ background }) {
        const converted = await background.run(staticMarkdown, request({ html: "<p>x" }), never);
        if (converted.kind !== "converted") throw new Error("A browser was asked for");
        expect(JSON.parse(new TextDecoder().decode(converted.body))).toMatchObject({
          result: "x",
        });
        const scripted = request({ html: "<script>1</script>" });
        const size = scripted.bytes.byteLength;
        const given = await background.run(staticMarkdown, scripted, never);
        expect(given.kind === "browser" && given.bytes.byteLength).toBe(size);
      },
    },
    {
      name: "an ApiError crosses unchanged, and takes nothing with it",
      async run({ background }) {
        const refused = background.run(staticMarkdown, request({ htm: "<p>x" }), never);
        await expect(refused).rejects.toMatchObject({
          name: "ApiError",
          kind: "invalid_request",
          message: 'Unknown field "htm": did you mean "html"?',
        });
        expect(await background.run(documentMarkdown, page("<p>x"), never)).toBe("x");
      },
    },
    {
      name: "an abort ends a task at once, and its reason is the failure",
      async run({ background }) {
        const stop = new AbortController();
        const made = background.run(documentMarkdown, page(large.repeat(8)), stop.signal);
        const reason = new Error("enough");
        stop.abort(reason);
        await expect(made).rejects.toBe(reason);
        const late = background.run(documentMarkdown, page("<p>x"), stop.signal);
        await expect(late).rejects.toBe(reason);
        expect(await background.run(documentMarkdown, page("<p>y"), never)).toBe("y");
      },
    },
  ],
};
