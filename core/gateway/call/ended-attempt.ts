import type { TokenUsage } from "../chat/usage.ts";
import type { GatewayCaller } from "./caller.ts";
import type { Price } from "../prices/price.ts";
import type { GatewayName } from "../account/settings/gateway-name.ts";

/** One stored request: what `GET …/logs/{id}` is made of. Plain, because it crosses to the gateway's actor. */
export type LogRow = {
  id: string;
  /** Unix ms. */
  createdAt: number;
  provider: string;
  model: string;
  /** Path and query as sent to the provider, secrets redacted. */
  path: string;
  statusCode: number | null;
  success: boolean;
  cached: boolean;
  /** Milliseconds until the last byte. */
  duration: number;
  /** Milliseconds until the first byte of the answer's body; null where no byte came, or the body was not watched. */
  firstByte: number | null;
  tokensIn: number | null;
  tokensOut: number | null;
  cost: number | null;
  customCost: boolean;
  /** JSON text. */
  metadata: string | null;
  modelType: string | null;
  requestType: string | null;
  requestContentType: string | null;
  responseContentType: string | null;
  step: number;
  eventId: string | null;
  userAgent: string | null;
  authentication: boolean;
  /** The caller, as `key:<id>`, `token:<id>` or `jwt:<subject>`; null for one without a name. */
  caller: string | null;
  /** The parameters that had to go, because the model does not take them: names between commas; null for nothing. */
  dropped: string | null;
  /** A remark on the attempt, such as that its figure is an estimate; null for nothing. */
  note: string | null;
  /** The action of data loss prevention: `FLAG` or `BLOCK`. */
  dlpAction: string | null;
  request: LoggedBody;
  response: LoggedBody;
};

/** A body as far as it is kept: decoded text, its whole size in bytes, and whether nothing was cut off. */
export type LoggedBody = { text: string | null; size: number; complete: boolean };

/** One attempt has ended: the event that the log, the metrics, traces and budgets observe. */
export interface EndedAttempt {
  readonly name: GatewayName;
  readonly caller: GatewayCaller | null;
  /** Whether its call leaves a row in the log. */
  readonly isLogged: boolean;
  readonly row: LogRow;
  /** The usage of the provider's answer; null where none was seen, or it came from the cache. */
  readonly usage: TokenUsage | null;
  /** The same for limits: of an answer that was left, what has passed of it at least. */
  readonly counted: TokenUsage | null;
  /** The list price of the model that answered; null = not known, or there was no answer to pay for. */
  readonly price: Price | null;
  /** The charge in US dollars; null = not known. */
  readonly charge: number | null;
  /** Whether a provider was asked. */
  readonly sent: boolean;
  /** Whether the client was gone before its end. */
  readonly left: boolean;
}

/** Told of attempts when they have ended; never waits and never throws. */
export type AttemptObserver = (ended: EndedAttempt) => void;
