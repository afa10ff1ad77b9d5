import { ApiError } from "../../http/api-error.ts";
import type { RenderBody } from "../input/body.ts";
import type { Page } from "./page.ts";
import { waitForFiles } from "./wait-for-files.ts";

/** Characters of a reason. */
const REASON = 300;

/** @throws ApiError `page_check_failed` for a status that the body does not take */
export function checkStatus(
  { failOnHttpStatus: wrong = false }: RenderBody,
  status: number | undefined,
): void {
  if (status === undefined || wrong === false) return;
  const isWrong = wrong === true ? status >= 400 : wrong.includes(status);
  if (isWrong) throw failed("failOnHttpStatus", `The site answered status ${status}`);
}

/** Waits for the files of a page that may miss none. */
export async function awaitResources(
  { failOnResource }: RenderBody,
  page: Page,
  signal: AbortSignal,
): Promise<void> {
  if (failOnResource !== true) return;
  await waitForFiles(page, signal, false);
  page.files.noteLate();
}

/** @throws ApiError `page_check_failed` for an error of the page's scripts, or a missing file, where the body takes none */
export function checkShown({ failOnConsoleError, failOnResource }: RenderBody, page: Page): void {
  const [error] = page.consoleErrors;
  if (failOnConsoleError === true && error !== undefined) throw failed("failOnConsoleError", error);
  const [file] = page.files.failed;
  if (failOnResource === true && file !== undefined) {
    const { url, type, reason, detail } = file;
    throw failed("failOnResource", `A file is missing: ${type} ${url} (${reason}, ${detail})`);
  }
}

function failed(field: string, reason: string): ApiError {
  return new ApiError("page_check_failed", { message: `${field}: ${reason.slice(0, REASON)}` });
}
