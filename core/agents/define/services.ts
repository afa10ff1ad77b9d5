import type { Connection } from "../../ports.ts";
import type { Retention } from "../../entity/event.ts";
import type { Tracer } from "../../trace/trace-context.ts";

/** The services that a platform gives to its agent instances. */
export interface AgentServices {
  /**
   * Retention of webhook events, also for instances that no longer receive any. @default as the instance's last event
   * said
   */
  readonly retention?: Retention | undefined;
  /** The account whose webhook endpoints get what instances send. @default they cannot send */
  readonly outboundAccount?: string | undefined;
  /** Finds a gateway by name. @default none */
  readonly gateway?: ((name: string) => AgentGateway) | undefined;
  /** Finds a search instance by id and namespace. @default none */
  readonly search?: ((id: string, namespace?: string) => AgentSearch) | undefined;
  /** Renders pages. @default none */
  readonly render?: AgentRender | undefined;
  /** Receives a span for each run of an event or a task. @default no tracing */
  readonly tracer?: Tracer | undefined;
  /** Asks again for the tokens of connections. @default they are not asked for again */
  readonly reviewer?: Reviewer | undefined;
}

/** Options of one request that an agent makes. */
export interface AgentCall {
  /** Aborting it ends the request before the handler's time is over. */
  readonly signal?: AbortSignal | undefined;
  /** The span that asks (W3C Trace Context). @default that of the run */
  readonly traceparent?: string | undefined;
}

/** A gateway in the same process: the binding that `platformApi().aiBinding()` gives. */
export interface AgentGateway {
  /** Runs one step or several, tried in turn, of a universal request; resolves to the provider's raw answer. */
  run(
    steps: unknown,
    options?: {
      readonly signal?: AbortSignal | undefined;
      readonly extraHeaders?: Readonly<Record<string, string>> | undefined;
    },
  ): Promise<Response>;
}

/** A search instance in the same process: the binding that `searchParts().binding()` gives. */
export interface AgentSearch {
  /** Finds chunks. The body is that of the route `…/search`. */
  search(body: AgentQuestion, call?: AgentCall): Promise<AgentFindings>;
  /** Answers a conversation from what it finds. The body is that of `…/chat/completions`, without `stream`. */
  chatCompletions(body: AgentConversation, call?: AgentCall): Promise<AgentAnswer>;
}

/** A message of a conversation. */
export interface AgentMessage {
  readonly role: "system" | "developer" | "user" | "assistant" | "tool";
  readonly content: string | readonly Readonly<Record<string, unknown>>[];
}

/** The input of a search: a query, or the last message of a conversation. */
export interface AgentQuestion {
  readonly query?: string;
  readonly messages?: readonly AgentMessage[];
  readonly ai_search_options?: Readonly<Record<string, unknown>>;
}

/** A conversation to answer. */
export interface AgentConversation {
  readonly messages: readonly AgentMessage[];
  readonly model?: string;
  readonly ai_search_options?: Readonly<Record<string, unknown>>;
}

/** A piece of a document. */
export interface AgentChunk {
  readonly id: string;
  readonly score: number;
  readonly text: string;
  readonly item: {
    readonly key: string;
    readonly timestamp: number;
    readonly metadata: Readonly<Record<string, unknown>>;
  };
}

/** The findings of a search, best first. */
export interface AgentFindings {
  readonly search_query: string;
  readonly chunks: readonly AgentChunk[];
  /** Counts of matching items by field and value, if `facets` asked for them. */
  readonly facet_distribution?: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Steps that the search had to skip, e.g. because the embedder did not answer. */
  readonly notes: readonly string[];
}

/** A chat completion, and the chunks from which it was made. */
export interface AgentAnswer {
  readonly model: string;
  readonly choices: readonly {
    readonly message: { readonly role: "assistant"; readonly content: string };
    readonly finish_reason: string;
  }[];
  readonly chunks: readonly AgentChunk[];
}

/** A page to render: `url` or `html`, and the further members of the route's body. */
export interface AgentPage {
  readonly url?: string;
  readonly html?: string;
  readonly [option: string]: unknown;
}

/** The result of each operation of {@link AgentRender}. */
export interface AgentRenderings {
  readonly pdf: Uint8Array<ArrayBuffer>;
  readonly screenshot: Uint8Array<ArrayBuffer>;
  readonly markdown: string;
  readonly json: unknown;
  readonly content: string;
  readonly links: readonly string[];
  readonly scrape: readonly {
    readonly selector: string;
    readonly results: readonly {
      readonly text: string;
      readonly html: string;
      readonly attributes: readonly { readonly name: string; readonly value: string }[];
    }[];
  }[];
  /** The requested parts. */
  readonly snapshot: {
    readonly content?: string | undefined;
    /** Base64. */
    readonly screenshot?: string | undefined;
    readonly markdown?: string | undefined;
    readonly accessibilityTree?: unknown;
  };
}

/** Rendering in the same process: the binding that `renderingParts()` gives. */
export type AgentRender = {
  readonly [Name in keyof AgentRenderings]: (
    page: AgentPage,
    call?: AgentCall,
  ) => Promise<AgentRenderings[Name]>;
};

/** The part of a connection's token that is kept, also while its instance is not in memory. */
export type Holder = {
  /** SHA-256, hexadecimal. */
  readonly hash: string;
  /** The time at which it expires (Unix ms), if the token itself contains one. */
  readonly until: number | null;
};

/** Checks the tokens of connections again; a connection whose token has lost its permission is closed with 1008. */
export interface Reviewer {
  /** The part of an upgrade's token to keep; null without a token to check again, as with a ticket. */
  holderOf(request: Request): Promise<Holder | null>;
  /** Checks every ten seconds until {@link Reviewer.unwatch}, on platforms that keep the process of a connection. */
  watch(connection: Connection, request: Request): void;
  unwatch(connection: Connection): void;
  /** Checks once. */
  review(connection: Connection): Promise<void>;
}
