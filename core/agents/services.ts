import type { Retention } from "../entity/event.ts";

/** What the instances of a platform are given by those who serve them. */
export interface AgentServices {
  /** What is kept of webhook events, also of instances that get none any more. @default what their last event said */
  readonly retention?: Retention | undefined;
  /** The account whose webhook endpoints get what instances send. @default they cannot send */
  readonly outboundAccount?: string | undefined;
  /** The gateway of a name. @default none */
  readonly gateway?: ((name: string) => AgentGateway) | undefined;
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
