import type { Mutant } from "./mutant.ts";

/** Those of pages and crawls that came last. */
export const renderingMutants: readonly Mutant[] = [
  {
    name: "the request of a running crawl lies sealed",
    file: "core/rendering/crawl/rows/sealed-input.ts",
    find: "const sealed = await seal(key, JSON.stringify(input), name, system.random(12));",
    replace: "const sealed = JSON.stringify(input);",
    tests: ["tests/unit/rendering/crawl/sealed-input"],
  },
  {
    name: "a crawl gives up a host that fails page after page",
    file: "core/rendering/crawl/visit-page.ts",
    find: "|| queue.failures > FAILURES)",
    replace: ")",
    tests: ["tests/unit/rendering/crawl/crawl-pages"],
  },
  {
    name: "a page shows its proxy the login before anything is shown in it",
    file: "core/rendering/page/tab.ts",
    find: "await logIn(cdp, tab.main?.session, tab.login);",
    replace: "",
    tests: ["tests/unit/rendering/page.test"],
  },
  {
    name: "a file that failed is named",
    file: "core/rendering/page/page-files.ts",
    find: "if (file !== undefined && failure !== null) failures.note(file, ...failure);",
    replace: "",
    tests: ["tests/unit/rendering/page-files"],
  },
  {
    name: "files are waited for until they are there",
    file: "core/rendering/page/page-files.ts",
    find: "if (!isWaiting()) for (const changed",
    replace: "for (const changed",
    tests: ["tests/unit/rendering/page-files"],
  },
  {
    name: "a page is kept for one owner",
    file: "core/rendering/page/kept-pages.ts",
    find: "if (kept.owner !== owner) continue;",
    replace: "",
    tests: ["tests/unit/rendering/kept-pages"],
  },
  {
    name: "a page that has shown plain documents may ask for nothing",
    file: "core/rendering/page/tab.ts",
    find: " || tab.isPlain",
    replace: "",
    tests: ["tests/unit/rendering/kept-pages"],
  },
  {
    name: "a name of an upload leads nowhere but below its page",
    file: "core/rendering/upload/upload-schema.ts",
    find: "return isBelow && name.length",
    replace: "return name.length",
    tests: ["tests/unit/rendering/upload"],
  },
  {
    name: "a PDF is bounded as it is loaded",
    file: "core/rendering/static/fetch-document.ts",
    find: "isPdf(contentType) ? PDF_LIMIT : DOCUMENT_LIMIT",
    replace: "isPdf(contentType) ? Infinity : DOCUMENT_LIMIT",
    tests: ["tests/unit/rendering/pdf"],
  },
];
