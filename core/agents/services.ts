import type { Retention } from "../entity/event.ts";

/** What the instances of a platform are given by those who serve them. */
export interface AgentServices {
  /** What is kept of webhook events, also of instances that get none any more. @default what their last event said */
  readonly retention?: Retention | undefined;
  /** The account whose webhook endpoints get what instances send. @default they cannot send */
  readonly outboundAccount?: string | undefined;
}
