// The program of the threads that `threads.ts` starts: one task at a time, from its message to its answer.
import { parentPort } from "node:worker_threads";
import { runToEnd } from "../../../core/work/background.ts";
import { ApiError } from "../../../core/http/api-error.ts";
import { buffersOf, type TaskMessage, type TaskOutcome } from "./messages.ts";
import type { LongTask, Plain, Steps } from "../../../core/ports.ts";
import { accessibilityTree } from "../../../core/rendering/actions/accessibility-tree.ts";
import { convertPage } from "../../../core/rendering/crawl/convert-page.ts";
import { readRobots } from "../../../core/rendering/crawl/rules/robots.ts";
import { readSitemap } from "../../../core/rendering/crawl/sitemap.ts";
import { describePage } from "../../../core/rendering/describe/describe-page.ts";
import { mainContent } from "../../../core/rendering/extract/mod.ts";
import { checkJson } from "../../../core/rendering/json/check-json.ts";
import { documentHead, documentMarkdown } from "../../../core/rendering/input/markdown.ts";
import { pdfEditor } from "../../../core/rendering/pdf-edit/mod.ts";
import { pdfReader } from "../../../core/rendering/pdf/mod.ts";
import { splitBody } from "../../../core/rendering/read-body.ts";
import { selectParts } from "../../../core/rendering/select/select-parts.ts";
import { emptyShell } from "../../../core/rendering/static/empty-shell.ts";
import { staticMarkdown } from "../../../core/rendering/static/static-markdown.ts";
import { fileReader } from "../../../core/search/files/mod.ts";
import { readUpload } from "../../../core/rendering/upload/read-upload.ts";
import { splitLongText } from "../../../core/search/ingest/chunks-of.ts";
import { learnModel } from "../../../core/search/lexical/trained-model.ts";
import { readText } from "../../../core/search/read/read-text.ts";
import { staticPage } from "../../../core/rendering/static/static-page.ts";

type Named = Pick<LongTask<never, Plain, Steps<Plain>>, "name" | "load">;

/** The tasks of a thread, by name. */
const tasks: ReadonlyMap<string, Named> = new Map(
  [
    accessibilityTree,
    checkJson,
    convertPage,
    describePage,
    documentHead,
    documentMarkdown,
    emptyShell,
    fileReader,
    ...(fileReader.pictures === undefined ? [] : [fileReader.pictures]),
    learnModel,
    mainContent,
    pdfEditor,
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

async function outcomeOf({ name, input }: TaskMessage): Promise<TaskOutcome> {
  try {
    const task = tasks.get(name);
    if (task === undefined) return { failed: `There is no task "${name}"` };
    const stepsOf = await task.load();
    // The sender of the task has checked its input's type.
    return { output: await runToEnd(stepsOf(input as never)) };
  } catch (error) {
    if (error instanceof ApiError) return { refused: error.toData() };
    return { failed: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
  }
}

async function answer(message: TaskMessage): Promise<void> {
  const outcome = await outcomeOf(message);
  parentPort?.postMessage(outcome, "output" in outcome ? buffersOf(outcome.output) : []);
}

parentPort?.postMessage("ready");
parentPort?.on("message", (message: TaskMessage) => {
  void answer(message);
});
