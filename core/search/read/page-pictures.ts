import type { LongTask, Steps } from "../../ports.ts";

/** A page of a document. */
export type PictureInput = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Counted from 1. */
  readonly page: number;
};

export type PagePictures = {
  /** PNG files. */
  readonly pictures: readonly Uint8Array<ArrayBuffer>[];
  /** Pictures that are too many or too large, or of a kind that is not known. */
  readonly left: number;
};

export type PictureFinder = LongTask<PictureInput, PagePictures, Steps<PagePictures>>;
