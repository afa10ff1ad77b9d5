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
  /** The region that signs requests. @default "auto" */
  readonly region?: string;
}

/** A chat model, with the name that counts if neither the request nor the instance names a model. */
export type NamedChatModel = ChatModel & { readonly model?: string };

/** Options of `search()`; it works with `platform` alone. */
export interface SearchOptions {
  readonly platform: Platform;
  /** Authenticates callers; `"off"` leaves that to the host app. @default the stored tokens of the platform */
  readonly auth?: Auth;
  /** The number of proxies that append to `X-Forwarded-For`; visitors of public endpoints are distinguished by that address. @default 0 */
  readonly proxies?: number | undefined;
  /** The origin under which clients reach the server, for addresses in answers. @default the origin of a request to `localhost`; other requests get paths */
  readonly publicUrl?: string | undefined;
  /** Makes the vectors of new instances. @default the builtin lexical vectors, which need no network */
  readonly embedder?: Embedder;
  /** Writes the answers. @default the builtin extractive model, which quotes sentences */
  readonly chatModel?: NamedChatModel;
  /** Reorders results if a request or an instance asks for that. @default the builtin reranker, which counts words */
  readonly reranker?: Reranker;
  /** Milliseconds that the reranker has for one search; after that the results keep their former order. @default 10000 */
  readonly rerankerTimeoutMs?: number;
  /** Milliseconds that the embedder has for one request; after that a search uses keywords only. @default 10000 */
  readonly embedderTimeoutMs?: number;
  /** Milliseconds within which the chat model must begin its answer, and send each further part. @default 60000 */
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
  /** Milliseconds that `ocr` has for one picture. @default 60000 */
  readonly ocrTimeoutMs?: number;
  /** Measures chunks. @default an upper-side estimate that needs no vocabulary */
  readonly countTokens?: CountTokens;
  /**
   * Bytes of memory for the vectors and columns of all instances of the process. Data that does not fit is read from the
   * database at each search. @default 512 MiB; 48 MiB on Workers
   */
  readonly vectorMemoryBytes?: number;
  /** Reads the websites that instances have as their source: `crawler` of the rendering part. @default these are refused (503) */
  readonly crawler?: SiteCrawler;
  /** The endpoint for instances that set no `source_params.endpoint`. @default such instances are refused */
  readonly bucket?: BucketEndpoint;
  /** Seals the stored credentials of buckets. @default a key beside the data */
  readonly masterSecret?: string;
  /** Former master secrets, which still open the values that they sealed. @default [] */
  readonly formerMasterSecrets?: readonly string[];
  /** Serves instances to MCP clients at `…/mcp`: `serveMcp` of `causey/search/mcp`. @default 503 there */
  readonly mcp?: ServeMcp;
  /** Traces the calls of models that searches make. @default no tracing */
  readonly tracer?: Tracer | undefined;
  /** Hides details of failures of models and servers from callers. @default false; true on public endpoints */
  readonly hidesFailures?: boolean;
}

/** The options for one piece of work. */
export interface WorkOptions extends SearchOptions {
  /** The `traceparent` of the request behind it. @default no tracing */
  readonly trace?: string | null;
  /** Whom it is done for: threads are shared fairly between owners. @default one owner for all that name none */
  readonly owner?: string;
}
