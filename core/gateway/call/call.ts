import type { BodyReading } from "../wire/readable-body.ts";
import type { BodyHold } from "../../work/body-budget.ts";
import type { ApiError } from "../../http/api-error.ts";
import type { HeaderPair } from "../../ports.ts";
import type { ChatFormat } from "../chat/chat-body.ts";
import type { UnifiedTask } from "../providers/known/unified-tasks.ts";
import type { PriceBook } from "../prices/price-book.ts";
import type { GatewayName } from "../account/settings/gateway-name.ts";
import type { GatewaySettings } from "../account/settings/settings.ts";
import type { AbortLink } from "./abort-link.ts";
import type { LoggedBody, AttemptObserver } from "./ended-attempt.ts";
import type { GatewayCaller } from "./caller.ts";
import type { Controls } from "./controls.ts";
import type { RequestTrace } from "./request-trace.ts";
import type { TraceParent } from "./trace-parent.ts";

/** An accepted request: authenticated, its gateway found, its headers read. */
export interface Call {
  readonly name: GatewayName;
  readonly settings: GatewaySettings;
  /** The owner of the token that opened the gateway; null for an anonymous caller of a gateway without authentication. */
  readonly caller: GatewayCaller | null;
  readonly prices: PriceBook;
  readonly controls: Controls;
  /** The gateway token that the request presented, so that it is recognised in any position. */
  readonly token: string | null;
  readonly eventId: string;
  readonly userAgent: string | null;
  readonly signal: AbortSignal;
  /** The memory that the body takes, until the last byte of the answer has passed. @default it does not count */
  readonly held?: BodyHold;
  /** Links the signal to the client, where streams can be resumed. */
  readonly abortLink?: AbortLink | undefined;
  readonly trace: TraceParent | null;
  /** Told how the request goes, where the gateway exports traces. */
  readonly traced?: RequestTrace | undefined;
  /** Status of what guardrails hold back. @default that of the table of errors, 424 */
  readonly blockedStatus?: number;
  /** Told of each attempt that has ended. */
  readonly onEnded?: AttemptObserver;
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
  /** The bytes of the body without its content encoding; null when they cannot be had. @default `body` has none */
  readonly plain?: Uint8Array | null;
  /** The text of the body, decoded when it is first read. @default it is decoded at each read */
  readonly reading?: BodyReading;
  /** Returns why a body that streams through was broken off, once it was. */
  readonly refusal?: () => ApiError | null;
  /** Returns the part of a body that streams through which has passed, where the log row keeps its beginning. */
  readonly passed?: () => LoggedBody;
  /** The origin for this request, if its endpoint is not below its provider's base URL. A configured base URL outranks it. */
  readonly origin?: string;
  /** Whether it opens a WebSocket. @default false */
  readonly isSocket?: boolean;
  /**
   * The format of the body, where it is not the provider's and has to be translated; `count` is a message whose tokens are
   * asked for. @default as `rest` says
   */
  readonly format?: "responses" | "messages" | "count";
  /** Whether the request came to an endpoint for the models of all providers. @default false */
  readonly unified?: boolean;
  /** The parameters that had to go, because the model does not take them. @default nothing */
  readonly dropped?: readonly string[];
  /** The format of a request for a model of a cloud, whose place is not known yet or was put into `rest`. @default no such request */
  readonly cloud?: ChatFormat | UnifiedTask;
  /** The figure of the answer that is an estimate. @default nothing is */
  readonly estimated?: string;
  /** The name of the operator's whose targets answer in place of a provider. */
  readonly pool?: string;
  /** The dynamic route that answers in place of a provider. */
  readonly route?: string;
  /** The format of a request whose model the automatic router chooses. */
  readonly auto?: ChatFormat;
  /** Settings of this step alone; they outrank the call's. */
  readonly controls?: Controls;
}
