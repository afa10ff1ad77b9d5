import type { BodyBudget, BodyHold } from "../../body-budget.ts";
import type { Auth } from "../../auth/authorize.ts";
import type { ApiError } from "../../http/api-error.ts";
import type { HeaderPair, Platform } from "../../ports.ts";
import type { Access } from "../entry/access.ts";
import type { Caller } from "../entry/caller.ts";
import type { ReplyCache } from "../answer/cache/cache.ts";
import type { Safety } from "../guard/checkers/safety.ts";
import type { AccountPrices } from "../observe/prices/account-prices.ts";
import type { PriceBook } from "../observe/prices/price-book.ts";
import type { ChatFormat } from "../entry/compat.ts";
import type { Usage } from "../observe/usage/usage.ts";
import type { ContentDecoding } from "../wire/content-decoder.ts";
import type { Controls } from "../entry/controls.ts";
import type { KeyStore } from "../keys/key-store.ts";
import type { LoggedBody } from "../observe/log/log-row.ts";
import type { LogQueue } from "../observe/log/log-queue.ts";
import type { GatewayMetrics } from "../observe/metrics/metrics.ts";
import type { AbortLink } from "../answer/resume/abort-link.ts";
import type { ResumableRuns } from "../answer/resume/runs.ts";
import type { AutoRouter } from "../choose/router/auto-router.ts";
import type { SemanticCache } from "../answer/semantic/semantic-cache.ts";
import type { GatewaySettings } from "../gateways/settings.ts";
import type { GatewayName } from "../gateways/gateway-name.ts";
import type { GatewayStore } from "../gateways/store.ts";
import type { RecordStore } from "../manage/records/records.ts";
import type { StoredProviders } from "../providers/stored-providers.ts";
import type { Vault } from "../manage/records/vault.ts";
import type { StoredReplies } from "../answer/cache/stored-replies.ts";
import type { TargetOptions } from "../providers/target.ts";
import type { TokenSearch } from "../guard/tokens/token-search.ts";
import type { RequestTrace } from "../observe/trace/request-trace.ts";
import type { TraceParent } from "../observe/trace/trace-parent.ts";
import type { Tracing } from "../observe/trace/tracing.ts";

/** What the gateway works with: made once per factory. */
export interface GatewayDeps {
  readonly platform: Platform;
  /** Finds out who calls the management API. */
  readonly auth: Auth;
  /** Decides who may use a gateway. */
  readonly access: Access;
  readonly store: GatewayStore;
  /** Virtual keys. */
  readonly keys: KeyStore;
  /** What the management API keeps, and what seals its secrets. */
  readonly records: RecordStore;
  readonly vault: Vault;
  readonly queue: LogQueue;
  readonly cache: ReplyCache;
  /** Kept answers beyond this process. @default none */
  readonly replies?: StoredReplies | undefined;
  /** Finds answers to questions in other words. @default none */
  readonly semantic?: SemanticCache | undefined;
  readonly nextLogId: () => string;
  readonly targets: TargetOptions;
  /** Keys, custom providers and dynamic routes among the records, for requests on their way. */
  readonly stored: StoredProviders;
  /** The checks of a gateway; null when it has none. */
  readonly safetyOf: (settings: GatewaySettings) => Safety | null;
  readonly tracing: Tracing;
  readonly prices: AccountPrices;
  /** @default nothing is counted */
  readonly metrics?: GatewayMetrics | undefined;
  /** See the option of this name. */
  readonly accessLog: boolean;
  readonly decoding: ContentDecoding;
  /** Told the encoding of an answer that cannot be undone here, so that its usage is not known. */
  readonly unreadable: (encoding: string) => void;
  /** Finds a request's own token where it must not stand; null for one too short to search for. */
  readonly searchFor: (token: string) => TokenSearch | null;
  /** Milliseconds within which a provider must begin to answer, where a request says nothing else. */
  readonly firstByteMs: number;
  /** What the bodies of all requests may take in memory. */
  readonly bodies: BodyBudget;
  /** Bytes of each body that a log row keeps. */
  readonly logBodyLimit: number;
  /** The status of error 2005. */
  readonly failureStatus: 502 | 400;
  /** Chooses the model where a request leaves that to the gateway. @default none */
  readonly router?: AutoRouter | undefined;
  /** Keeps streams for clients that lose them. @default none */
  readonly resume?: ResumableRuns | undefined;
  /** Milliseconds of silence after which a stream of events gets a comment. @default never */
  readonly keepAliveMs?: number | undefined;
}

/** An accepted request: authenticated, its gateway found, its headers read. */
export interface Call {
  readonly name: GatewayName;
  readonly settings: GatewaySettings;
  /** Whose token opened the gateway; null for a stranger, whom a gateway without authentication lets in. */
  readonly caller: Caller | null;
  /** The prices of its account. */
  readonly prices: PriceBook;
  readonly controls: Controls;
  /** The gateway token that the request presented, so that it is recognised in any position. */
  readonly token: string | null;
  readonly eventId: string;
  readonly userAgent: string | null;
  readonly signal: AbortSignal;
  /** What the body takes in memory, until the last byte of the answer has passed. @default it does not count */
  readonly held?: BodyHold;
  /** Links the signal to the client, where streams can be resumed. */
  readonly abortLink?: AbortLink | undefined;
  /** The trace that the request belongs to. */
  readonly trace: TraceParent | null;
  /** Told how the request goes, where the gateway exports traces. */
  readonly traced?: RequestTrace | undefined;
  /** Status of what guardrails hold back. @default that of the table of errors, 424 */
  readonly blockedStatus?: number;
  /** Told the cost (US dollars) of each answer. */
  readonly onCost?: (cost: number) => void;
  /** Told what each provider's answer used. */
  readonly onAnswer?: (answer: AnswerUsage) => void;
}

/** What a provider's answer used, and of which model. */
export interface AnswerUsage {
  readonly provider: string;
  readonly model: string;
  readonly usage: Usage;
}

/** One request to one provider: a whole call, or an element of a universal one. */
export interface Step {
  readonly slug: string;
  /** Raw path behind the provider segment. */
  readonly rest: string;
  /** Raw query with its question mark, or empty. */
  readonly query: string;
  readonly method: string;
  /** The caller's headers; hygiene comes later. */
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array | ReadableStream<Uint8Array> | null;
  /** Of a body with a content encoding: its bytes without; null when they cannot be had. @default `body` has none */
  readonly plain?: Uint8Array | null;
  /** Of a body that streams through: why it was broken off, once it was. */
  readonly refusal?: () => ApiError | null;
  /** Of a body that streams through: what has passed of it, where the log row keeps its beginning. */
  readonly passed?: () => LoggedBody;
  /** Where the provider takes this request, when that is not below its base URL. A configured base URL outranks it. */
  readonly origin?: string;
  /** The format of the body, where it is not the provider's and has to be translated. @default as `rest` says */
  readonly format?: "responses" | "messages";
  /** Whether the request came to an endpoint for the models of all providers. @default false */
  readonly unified?: boolean;
  /** The dynamic route that answers in place of a provider. */
  readonly route?: string;
  /** The format of a request whose model the automatic router chooses. */
  readonly auto?: ChatFormat;
  /** Settings of this step alone; they outrank the call's. */
  readonly controls?: Controls;
}
