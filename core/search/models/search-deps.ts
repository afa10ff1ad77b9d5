import type { Auth } from "../../auth/authorize.ts";
import type { ChatModel, Embedder, Platform, SiteCrawler } from "../../ports.ts";
import type { ServeMcp } from "../../mcp/mcp-tool.ts";
import type { Tracer } from "../../trace/trace-context.ts";
import type { CountTokens } from "../text/count-tokens.ts";
import type { FileReader } from "../read/file-reader.ts";
import type { HtmlToMarkdown } from "../read/html-text.ts";

/** Says how well each of several texts answers a query. */
export interface Reranker {
  /** Name shown to users. */
  readonly model: string;
  /** One score from 0 to 1 per text, in their order. */
  rerank(
    query: string,
    texts: readonly string[],
    signal: AbortSignal,
    /** Names the span of this call, for the header of that name. */
    traceparent?: string,
  ): Promise<number[]>;
}

/** A picture. */
export interface OcrPicture {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Its media type, e.g. `image/png`. */
  readonly type: string;
}

/** Reads the text of a picture; empty if it has none. */
export type Ocr = (picture: OcrPicture, signal: AbortSignal) => Promise<string>;

/** A store of buckets that speaks S3; the operator's own, so it may be on a private network. */
export interface BucketEndpoint {
  /** Its address, e.g. `https://s3.eu-central-1.amazonaws.com`; buckets are the first segment of the path. */
  readonly endpoint: string;
  /** @default "auto" */
  readonly region?: string;
}

/** A chat model with the name that is used when neither request nor instance names one. */
export type NamedChatModel = ChatModel & { readonly model?: string };

/** Options of `search()`; it works with `platform` alone. */
export interface SearchOptions {
  readonly platform: Platform;
  /** @default the stored tokens of the platform */
  readonly auth?: Auth;
  /** The number of proxies that append to `X-Forwarded-For`, by which visitors of public endpoints are told apart. @default 0 */
  readonly proxies?: number | undefined;
  /** The origin that clients use, for addresses in answers. @default that of a request to this machine; else paths */
  readonly publicUrl?: string | undefined;
  /** Makes the vectors of new instances. @default the builtin lexical vectors, which need no network */
  readonly embedder?: Embedder;
  /** Writes the answers. @default the builtin extractive model, which quotes sentences */
  readonly chatModel?: NamedChatModel;
  /** Reorders what was found, where a request or an instance asks for it. @default the builtin one, which counts words */
  readonly reranker?: Reranker;
  /** Milliseconds that the reranker has for one search, which goes on in the former order then. @default 10000 */
  readonly rerankerTimeoutMs?: number;
  /** Milliseconds that the embedder has for one request; a search goes on by keywords then. @default 10000 */
  readonly embedderTimeoutMs?: number;
  /** Milliseconds in which the chat model must begin to answer, and then go on. @default 60000 */
  readonly chatTimeoutMs?: number;
  /** Converts uploaded HTML. @default headings, paragraphs and lists as Markdown, the rest as text */
  readonly htmlToMarkdown?: HtmlToMarkdown;
  /** Reads PDF, Office files, OpenDocument, RTF, EPUB and mail: `fileReader` of `causey/search/files`. @default these are refused (7060) */
  readonly readFile?: FileReader;
  /**
   * Reads pictures, and pages of a PDF that hold pictures alone, in instances with `indexing_options.use_ocr`: `modelOcr()`, or
   * a function of yours. @default such pages are named in a warning, pictures are refused (7060)
   */
  readonly ocr?: Ocr;
  /** Milliseconds that it has for one picture. @default 60000 */
  readonly ocrTimeoutMs?: number;
  /** Measures chunks. @default an upper-side estimate that needs no vocabulary */
  readonly countTokens?: CountTokens;
  /**
   * Bytes of memory for the vectors and the columns of all instances of the process. Those that find no room are read from the database at each
   * search. @default 512 MiB; 48 MiB on Workers
   */
  readonly vectorMemoryBytes?: number;
  /** Reads the websites that instances have as their source: `crawler` of the rendering part. @default these are refused (503) */
  readonly crawler?: SiteCrawler;
  /** The endpoint for instances that set no `source_params.endpoint`. @default such instances are refused */
  readonly bucket?: BucketEndpoint;
  /** Seals the stored credentials of buckets. @default a key beside the data */
  readonly masterSecret?: string;
  /** Master secrets of before, which still open what they sealed. @default [] */
  readonly formerMasterSecrets?: readonly string[];
  /** Serves instances to MCP clients at `…/mcp`: `serveMcp` of `causey/search/mcp`. @default 503 there */
  readonly mcp?: ServeMcp;
  /** Traces the calls of models that searches make. @default no tracing */
  readonly tracer?: Tracer | undefined;
  /** Keeps what models and servers say of a failure from callers. @default false; true on public endpoints */
  readonly hidesFailures?: boolean;
}

/** The options for one piece of work. */
export interface WorkOptions extends SearchOptions {
  /** The `traceparent` of the request behind it. @default no tracing */
  readonly trace?: string | null;
  /** Whom it is done for: threads are shared fairly between owners. @default one owner for all that name none */
  readonly owner?: string;
}
