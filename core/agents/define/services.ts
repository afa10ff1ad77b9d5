import type { Retention } from "../../entity/event.ts";
import type { Tracer } from "../../trace/trace-context.ts";

/** What the instances of a platform are given by those who serve them. */
export interface AgentServices {
  /** What is kept of webhook events, also of instances that get none any more. @default what their last event said */
  readonly retention?: Retention | undefined;
  /** The account whose webhook endpoints get what instances send. @default they cannot send */
  readonly outboundAccount?: string | undefined;
  /** The gateway of a name. @default none */
  readonly gateway?: ((name: string) => AgentGateway) | undefined;
  /** The search instance of an id and a namespace. @default none */
  readonly search?: ((id: string, namespace?: string) => AgentSearch) | undefined;
  /** Renders pages. @default none */
  readonly render?: AgentRender | undefined;
  /** Takes a span of each run of an event or a task. @default nobody traces */
  readonly tracer?: Tracer | undefined;
}

/** How long an agent's request may go on. */
export interface AgentCall {
  /** Ends it before the handler's time is over. */
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

/** What a search looks for: a query, or the last message of a conversation. */
export interface AgentQuestion {
  readonly query?: string;
  readonly messages?: readonly AgentMessage[];
  readonly ai_search_options?: Readonly<Record<string, unknown>>;
}

/** What is to be answered. */
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

/** What a search found, best first. */
export interface AgentFindings {
  readonly search_query: string;
  readonly chunks: readonly AgentChunk[];
  /** How many of the matching items have which value, by field; where `facets` asked for it. */
  readonly facet_distribution?: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** What the search did without, e.g. an embedder that did not answer. */
  readonly notes: readonly string[];
}

/** A chat completion, and the chunks that it is made from. */
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

/** What each operation of {@link AgentRender} makes of a page. */
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
  /** The parts that were asked for. */
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
