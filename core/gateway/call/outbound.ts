import type { InboundResponse, OutboundRequest, Transport } from "../../ports.ts";
import type { CachedReply } from "../wire/cached-reply.ts";

/** The destination of a request, as far as the parts around an attempt need it. */
export interface OutboundTarget {
  readonly slug: string;
  /** Absolute, query included. */
  readonly url: string;
  /** Names of the headers that hold the provider's credentials. */
  readonly provider: { readonly credentials: readonly string[] };
  /** Set for a provider of the management API; changes with each change of it. */
  readonly custom?: { readonly generation: string } | undefined;
}

/** The bounds of a connection that uses the operator's credential for its caller. */
export interface LentAccount {
  /** Whether a subprotocol chooses an organisation or a project of the account. */
  chooses(protocol: string): boolean;
  /** Why a client's message may not pass; null for one that may. */
  refused(message: string): string | null;
}

/** A step ready to be sent. */
export interface Outbound {
  readonly target: OutboundTarget;
  readonly request: OutboundRequest;
  /** Whether the caller brought the provider's credential, and the operator added none. */
  readonly bringsKey: boolean;
  readonly via: Pick<Transport, "send">;
  /** Turns the provider's answer into what the client expects. */
  readonly restore: (answer: InboundResponse) => Promise<InboundResponse> | InboundResponse;
  /** The parameters that the model does not take. @default nothing had to go */
  readonly dropped?: readonly string[];
  /** The figure of the answer that is an estimate. @default nothing is */
  readonly estimated?: string;
  /** The bounds of a WebSocket with the operator's credential. @default none of its messages is refused */
  readonly account?: LentAccount;
  /** Whether `restore` would bring the client a whole answer of this kept one. @default it does */
  readonly isRestorable?: (reply: CachedReply) => boolean;
}
