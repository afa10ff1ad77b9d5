import type { LongTask } from "../../ports.ts";
import type { PageDescription } from "./page-description.ts";

/** A document, and its address. */
export type DescribedPage = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly contentType: string;
  readonly url: string | null;
};

/** Reads what a document says about itself, beside the event loop. */
export const describePage: LongTask<DescribedPage, PageDescription> = {
  name: "rendering/describe-page",
  async load() {
    const { decodePage } = await import("../../text/decode-page.ts");
    const { readHtml } = await import("../markdown/html-events.ts");
    const { descriptionReader } = await import("./read-description.ts");
    return function* ({ bytes, contentType, url }) {
      const html = yield* decodePage(bytes, contentType);
      const reader = descriptionReader(url);
      yield* readHtml(html, reader.handler);
      return reader.description();
    };
  },
};
