/**
 * The main content of pages, without navigation, advertisements and comments. Needs the packages `linkedom` and
 * `@mozilla/readability`; nothing else of causey imports them.
 *
 * @module
 */
import { ApiError } from "../../http/api-error.ts";
import type { ContentExtractor } from "../input/extractor.ts";

export type { ContentExtractor, ExtractionRequest } from "../input/extractor.ts";

/**
 * Answers `{"extract": "main"}` of `/markdown`, `/content`, `/json` and `/crawl` with Mozilla's Readability on a DOM of linkedom.
 *
 * @example
 * ```ts
 * import { memoryPlatform } from "causey/memory";
 * import { rendering } from "causey/rendering";
 * import { mainContent } from "causey/rendering/extract";
 *
 * const app = rendering({ platform: await memoryPlatform(), extract: mainContent });
 * ```
 */
export const mainContent: ContentExtractor = {
  name: "rendering/main-content",
  async load() {
    const { mainContentOf } = await import("./main-content.ts").catch((error: unknown) => {
      throw new ApiError("missing_capability", {
        message: "extract: Install the packages linkedom and @mozilla/readability",
        cause: error,
      });
    });
    const { decodePage } = await import("../../text/decode-page.ts");
    return function* ({ bytes, contentType }) {
      const html = yield* decodePage(bytes, contentType);
      yield;
      return new TextEncoder().encode(mainContentOf(html));
    };
  },
};
