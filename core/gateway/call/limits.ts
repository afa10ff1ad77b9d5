import type { TokenUsage } from "../chat/usage.ts";
import type { Price } from "../prices/price.ts";
import type { Call, Step } from "./call.ts";

/** The limits that a call has to pass before its provider is asked. */
export interface Limits {
  /** Throws `forbidden` for a model that the caller may not use. */
  checkModel(step: Step, call: Call): void;
  /** Whether anything can limit what a call may spend. */
  applyTo(call: Call): boolean;
  /** Asks for leave to spend; throws what refuses it. */
  leave(step: Step, call: Call): Promise<SpendingPermit>;
}

/** Leave to ask a provider: what is told how it went, and the call whose rows tell it. */
export interface SpendingPermit {
  readonly settle: Settle;
  readonly call: Call;
  /** The output that is set aside; null where the request bounds its answer, or no limit applies. */
  readonly room: OutputRoom | null;
  /** Adds up for a virtual key what no row of the call tells. */
  readonly count: (usage: TokenUsage, price: Price | null) => void;
}

/** The output that may pass of an answer whose request does not bound it. */
export interface OutputRoom {
  /** Tokens that are set aside. */
  readonly tokens: number;
  /** Sets more aside; throws what refuses that. */
  extend(): Promise<void>;
}

/** Enters what a step has cost, in USD; null = not known. */
export type Settle = (amount: number | null) => void;
