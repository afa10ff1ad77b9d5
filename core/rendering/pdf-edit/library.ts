import type * as PdfLib from "@cantoo/pdf-lib";
import { ApiError } from "../../http/api-error.ts";

/** The library that reads and writes PDFs. */
export type PdfLibrary = typeof PdfLib;

/** Makes the error of a field, e.g. of `stamps[0].file` and "it is not a picture". */
export type RefuseField = (field: string, why: string) => ApiError;

/** Loads the library. @throws ApiError `missing_capability` where it is not installed */
export async function loadLibrary(): Promise<PdfLibrary> {
  return import("@cantoo/pdf-lib").catch((error: unknown) => {
    throw new ApiError("missing_capability", {
      message: "PDF: Install the package @cantoo/pdf-lib",
      cause: error,
    });
  });
}

/** Loads what writes archives. @throws ApiError `missing_capability` where it is not installed */
export async function loadArchiver(): Promise<typeof import("fflate")> {
  return import("fflate").catch((error: unknown) => {
    throw new ApiError("missing_capability", {
      message: "PDF: Install the package fflate, which split needs",
      cause: error,
    });
  });
}
