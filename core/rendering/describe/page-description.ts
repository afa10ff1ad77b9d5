/** A page's description of itself. A member is absent if the page does not have it. */
export type PageDescription = {
  /** The authors' names, joined by commas. */
  readonly author?: string;
  /** ISO 8601, with the time and zone that the page gives. */
  readonly publishedTime?: string;
  /** The same of the last change. */
  readonly modifiedTime?: string;
  /** A language tag (BCP 47). */
  readonly language?: string;
  readonly siteName?: string;
  /** The address of the lead image. */
  readonly image?: string;
  readonly description?: string;
};
