import { AD_LISTS, adLists } from "./ads/ad-lists.ts";
import { parseAllowHosts } from "../net/allow-hosts.ts";
import type { RenderingOptions } from "./job/options.ts";
import type { Background } from "../ports.ts";
import { fairSlots } from "../work/fair-slots.ts";
import { linksAction, pictureAction, scrapeAction } from "./actions/actions.ts";
import type { DocumentBody, PdfBody, RenderBody } from "./input/body.ts";
import { answerInEnvelope, answerPdf, answerPicture } from "./actions/answers.ts";
import { warnOfMissingFonts } from "./input/missing-fonts.ts";
import {
  describeAction,
  documentAction,
  markdownAction,
  snapshotAction,
  treeAction,
} from "./actions/documents.ts";
import { type ContentExtractor, extractorFor } from "./input/extractor.ts";
import { answerEdit, type EditDeps, editOfPdf } from "./actions/edited-pdf.ts";
import { jsonAnswerOf } from "./actions/json-answer.ts";
import { printAction } from "./actions/print.ts";
import { keptPages, noKeptPages } from "./page/kept-pages.ts";
import { noPagesAhead, pagesAhead } from "./page/pages-ahead.ts";
import type { Action, RenderDeps, Rendered } from "./page/render.ts";
import {
  accessibilitySchema,
  documentSchema,
  linksSchema,
  pdfSchema,
  jsonSchema,
  scrapeSchema,
  screenshotSchema,
  snapshotSchema,
} from "./job/schema.ts";
import {
  type Operation,
  operationParts,
  perform,
  refuseStatic,
  type RenderCall,
} from "./perform.ts";
import { type Shortcut, staticShortcut } from "./static/shortcut.ts";
import { tooManyRenderings } from "./input/errors.ts";
import { type StaticAction, staticLinks, staticScrape } from "./static/static-page.ts";

/** Answers one request. */
export type RenderOperation = (call: RenderCall) => Promise<Response>;

/** The last segment of an operation's path. */
export type OperationName =
  | "pdf"
  | "pdf/edit"
  | "markdown"
  | "json"
  | "content"
  | "screenshot"
  | "links"
  | "scrape"
  | "accessibilityTree"
  | "snapshot";

type MakeOperation = <B extends RenderBody, T>(one: Operation<B, T>) => RenderOperation;

/** The operations by the last segment of their path. */
export function renderOperations(
  options: RenderingOptions,
  deps: RenderDeps,
): Readonly<Record<OperationName, RenderOperation>> {
  const { maxQueue: waiting = 20 } = options;
  const conversions = fairSlots({ running: CONVERSIONS, waiting, refuse: tooManyRenderings });
  const parts = operationParts(options, deps, conversions);
  const operation: MakeOperation = (one) => (call) => perform(one, call, parts);
  const edits: EditDeps = {
    platform: options.platform,
    editor: options.editPdf,
    limit: parts.limit,
    requestMs: deps.requestMs,
  };
  return {
    "pdf/edit": (call) => answerEdit(edits, call),
    ...textOperations(operation, options, staticShortcut(options, deps, conversions)),
    ...pageOperations(operation, options, edits),
  };
}

/** The operations that read a document, and so can do without a browser. */
function textOperations(
  make: MakeOperation,
  options: RenderingOptions,
  shortcut: Shortcut,
): Readonly<Record<"markdown" | "json" | "content" | "links" | "scrape", RenderOperation>> {
  const { markdownEngine: engine } = options;
  const operation: MakeOperation = (one) => make({ ...one, takesStatic: true });
  const frontmatter = options.frontmatter !== false;
  const answer = inEnvelopeOf(options);
  const only = (asked: "main" | undefined): ContentExtractor | null =>
    extractorFor(asked, options.extract);
  const partsOf = ({ extract, includeTags = [], excludeTags = [] }: DocumentBody) => {
    return { main: only(extract) !== null, includeTags, excludeTags };
  };
  const asMarkdown = {
    actionOf: (body: DocumentBody, background: Background): Action<string> =>
      markdownAction(frontmatter, background, { extract: only(body.extract), body, engine }),
    describeOf: describeAction,
    answer,
    withoutBrowser: (body: DocumentBody): StaticAction => {
      return { kind: "markdown", frontmatter, ...partsOf(body) };
    },
  };
  return {
    markdown: operation({ schema: documentSchema, ...asMarkdown, shortcut, takesUpload: true }),
    json: operation({ schema: jsonSchema, ...asMarkdown, around: jsonAnswerOf(options) }),
    content: operation({
      schema: documentSchema,
      actionOf: (body, background) => documentAction(body, background, only(body.extract)),
      describeOf: describeAction,
      answer,
      withoutBrowser: (body) => ({ kind: "content", ...partsOf(body) }),
      takesUpload: true,
    }),
    links: operation({
      schema: linksSchema,
      actionOf: linksAction,
      answer,
      withoutBrowser: staticLinks,
    }),
    scrape: operation({
      schema: scrapeSchema,
      actionOf: scrapeAction,
      answer,
      withoutBrowser: staticScrape,
    }),
  };
}

/** The operations that show a page as a browser has drawn it. */
function pageOperations(
  operation: MakeOperation,
  options: RenderingOptions,
  edits: EditDeps,
): Readonly<Record<"pdf" | "screenshot" | "accessibilityTree" | "snapshot", RenderOperation>> {
  const { platform, markdownEngine: engine } = options;
  const frontmatter = options.frontmatter !== false;
  const onMissing = warnOfMissingFonts(platform.log);
  const answer = inEnvelopeOf(options);
  return {
    pdf: operation({
      schema: pdfSchema,
      actionOf: (body) => printAction(body, onMissing),
      answer: answerPdf,
      withoutBrowser: passedPdf,
      around: editOfPdf(edits),
      takesUpload: true,
    }),
    screenshot: operation({
      schema: screenshotSchema,
      actionOf: (body) => pictureAction(body.screenshotOptions ?? {}, onMissing, body),
      answer: (rendered, body, signal) => answerPicture(rendered, body, platform.system, signal),
      takesUpload: true,
    }),
    accessibilityTree: operation({ schema: accessibilitySchema, actionOf: treeAction, answer }),
    snapshot: operation({
      schema: snapshotSchema,
      actionOf: (body, background) =>
        snapshotAction(body, { frontmatter, background, onMissing, engine }),
      answer,
      takesUpload: true,
    }),
  };
}

function inEnvelopeOf({ platform: { system } }: RenderingOptions) {
  return <T>(rendered: Rendered<T>, _body: unknown, signal: AbortSignal): Promise<Response> =>
    answerInEnvelope(rendered, system, signal);
}

/** Makes what all renderings share: one browser, and one bound on how much it does at a time. */
export function renderDeps(options: RenderingOptions): RenderDeps {
  const { platform, maxConcurrency = 2 } = options;
  const most = Math.min(maxConcurrency, 4);
  const { pagesAhead: ahead = most, pagesKept: kept = most + 1 } = options;
  const documents = platform.browser.documents ?? platform.egress;
  const deps = {
    browser: platform.browser,
    system: platform.system,
    guarded: platform.browser.guarded === true,
    login: () => platform.browser.proxyLogin?.() ?? null,
    requestMs: options.requestTimeout ?? 180_000,
  };
  return {
    ...deps,
    documents,
    ads: adLists({
      urls: options.adLists ?? AD_LISTS,
      documents,
      allow: parseAllowHosts(options.allowHosts),
      platform,
    }),
    ahead: platform.browser.lasting === true ? pagesAhead(ahead, deps) : noPagesAhead,
    kept: platform.browser.lasting === true ? keptPages(kept, deps) : noKeptPages,
    slots: fairSlots({
      running: maxConcurrency,
      waiting: options.maxQueue ?? 20,
      reserve: 1,
      refuse: tooManyRenderings,
    }),
  };
}

/** Conversions without a browser at a time; each has a thread where the runtime has threads. */
const CONVERSIONS = 4;

/** A PDF is printed already. */
function passedPdf({ html }: PdfBody): StaticAction {
  if (html !== undefined) return refuseStatic();
  return { kind: "pdf" };
}
