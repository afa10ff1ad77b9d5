import type { ChatReasoning, ExtraContent } from "./chat-format.ts";

/** A piece of an answer in the formats that put thoughts, words and calls one after another. */
export interface Block {
  readonly kind: "thought" | "text" | "refusal" | "image" | "call";
  /** Its place among the blocks; -1 for one that was not opened yet. */
  index: number;
  /** The text of a thought or of an answer, the arguments of a call, or an image as a `data:` URL. */
  text: string;
  /** The provider's own data of a thought, which it expects back. */
  reasoning?: ChatReasoning;
  /** The call's id and name. */
  id: string;
  name: string;
  readonly extra?: ExtraContent;
}

export interface BlockEvents {
  open(block: Block): string;
  piece(block: Block, text: string): string;
  close(block: Block): string;
}
