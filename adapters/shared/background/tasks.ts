import type { LongTask, Plain, Steps } from "../../../core/ports.ts";
import { convertPage } from "../../../core/rendering/crawl/convert-page.ts";
import { readRobots } from "../../../core/rendering/crawl/rules/robots.ts";
import { readSitemap } from "../../../core/rendering/crawl/rules/sitemap.ts";
import { mainContent } from "../../../core/rendering/extract/mod.ts";
import { checkJson } from "../../../core/rendering/json/check-json.ts";
import { documentHead, documentMarkdown } from "../../../core/rendering/markdown.ts";
import { pdfReader } from "../../../core/rendering/pdf/mod.ts";
import { splitBody } from "../../../core/rendering/read-body.ts";
import { selectParts } from "../../../core/rendering/select/select-parts.ts";
import { staticMarkdown } from "../../../core/rendering/static/static-markdown.ts";
import { fileReader } from "../../../core/search/files/mod.ts";
import { readUpload } from "../../../core/rendering/upload/read-upload.ts";
import { splitLongText } from "../../../core/search/items/chunks-of.ts";
import { learnModel } from "../../../core/search/lexical/trained-model.ts";
import { readText } from "../../../core/search/read/read-text.ts";
import { staticPage } from "../../../core/rendering/static/static-page.ts";

type Named = Pick<LongTask<never, Plain, Steps<Plain>>, "name" | "load">;

/** What threads can do, by name. */
export const tasks: ReadonlyMap<string, Named> = new Map(
  [
    checkJson,
    convertPage,
    documentHead,
    documentMarkdown,
    fileReader,
    learnModel,
    mainContent,
    pdfReader,
    readRobots,
    readSitemap,
    readText,
    readUpload,
    selectParts,
    splitBody,
    splitLongText,
    staticMarkdown,
    staticPage,
  ].map((task): [string, Named] => [task.name, task]),
);
