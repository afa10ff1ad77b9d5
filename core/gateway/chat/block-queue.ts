import { TransportError } from "../../net/transport-error.ts";
import type { Block, BlockEvents } from "./block.ts";

/** A block that is open, or waits until those before it are whole. */
export interface QueuedBlock {
  readonly block: Block;
  /** Whether nothing more can come for it. */
  isWhole: () => boolean;
  isOpen: boolean;
}

/** Blocks in their order. The first one is written as its pieces arrive; the pieces of the others are kept. */
export interface BlockQueue {
  readonly opened: readonly Block[];
  readonly last: () => QueuedBlock | undefined;
  /** Adds a block. @default `isWhole`: once another block stands behind it */
  readonly append: (block: Omit<Block, "index">, isWhole?: () => boolean) => QueuedBlock;
  /** Adds a piece to a block that is not closed. */
  readonly say: (queued: QueuedBlock, text: string) => string;
  readonly has: (queued: QueuedBlock) => boolean;
  /** Opens and closes what can be by now. */
  readonly advance: () => string;
  /** Opens and closes all; throws `TransportError` for a tool call whose name never came. */
  readonly end: () => string;
}

/** The `isWhole` of a block for which nothing more comes. */
export const always = (): boolean => true;

export function blockQueue(events: BlockEvents): BlockQueue {
  const queue: QueuedBlock[] = [];
  const opened: Block[] = [];
  const open = (queued: QueuedBlock): string => {
    queued.isOpen = true;
    queued.block.index = opened.length;
    opened.push(queued.block);
    return opening(queued.block, events);
  };
  const close = ({ block }: QueuedBlock): string => {
    queue.shift();
    return closing(block, events);
  };
  const written = (isOver: boolean): string => {
    let text = "";
    for (let first = queue[0]; first !== undefined; first = queue[0]) {
      if (isNameless(first.block)) {
        if (!isOver) break;
        dropNameless(first.block);
        queue.shift();
        continue;
      }
      if (!first.isOpen) text += open(first);
      if (!isOver && !first.isWhole()) break;
      text += close(first);
    }
    return text;
  };
  return {
    opened,
    last: () => queue.at(-1),
    append(block, isWhole) {
      const hasFollower = (): boolean => queue.at(-1) !== queued;
      const queued: QueuedBlock = {
        block: { ...block, index: -1 },
        isOpen: false,
        isWhole: isWhole ?? hasFollower,
      };
      queue.push(queued);
      return queued;
    },
    say(queued, text) {
      queued.block.text += text;
      return queued.isOpen && text !== "" ? events.piece(queued.block, text) : "";
    },
    has: (queued) => queue.includes(queued),
    advance: () => written(false),
    end: () => written(true),
  };
}

function opening(block: Block, events: BlockEvents): string {
  const { text } = block;
  // The event of an opening shows a block that is still empty.
  block.text = "";
  const begun = events.open(block);
  block.text = text;
  return text === "" ? begun : begun + events.piece(block, text);
}

function closing(block: Block, events: BlockEvents): string {
  // Clients also parse the arguments of a call that has none.
  const isEmpty = block.kind === "call" && block.text === "";
  if (isEmpty) block.text = "{}";
  return (isEmpty ? events.piece(block, "{}") : "") + events.close(block);
}

function isNameless({ kind, name }: Block): boolean {
  return kind === "call" && name === "";
}

/** Some providers announce calls that never come. */
function dropNameless({ text }: Block): void {
  if (text !== "")
    throw new TransportError("broken", "The provider sent a tool call without a name");
}
