import type { Block, BlockEvents } from "./block.ts";
import { always, blockQueue } from "./block-queue.ts";
import { callStream } from "./call-stream.ts";
import type { ChatReasoning } from "./chat-format.ts";
import type { ChatReply, ChatToolCall, MessageDelta } from "./reply.ts";
import { orderedPieces } from "./thought-place.ts";

export function blocksOf(reply: ChatReply): Block[] {
  const { text, refusal = "", reasoning = [], images = [], toolCalls } = reply;
  const plain = { id: "", name: "" };
  const beside: Omit<Block, "index">[] = [
    ...(refusal === "" ? [] : [{ ...plain, kind: "refusal", text: refusal } as const]),
    ...images.map((url) => ({ ...plain, kind: "image", text: url }) as const),
  ];
  const blocks = orderedPieces(reasoning, text, toolCalls).map((piece): Omit<Block, "index"> => {
    if (piece.kind === "call") return callBlock(piece.call);
    if (piece.kind === "text") return { ...plain, kind: "text", text: piece.text };
    return { ...plain, kind: "thought", text: piece.thought.text, reasoning: piece.thought };
  });
  const firstCall = blocks.findIndex(({ kind }) => kind === "call");
  blocks.splice(firstCall === -1 ? blocks.length : firstCall, 0, ...beside);
  return blocks.map((block, index) => ({ ...block, index }));
}

function callBlock({
  id,
  function: made,
  extra_content: extra,
}: ChatToolCall): Omit<Block, "index"> {
  const kept = extra === undefined ? {} : { extra };
  return { kind: "call", id, name: made.name, text: made.arguments, ...kept };
}

/** Follows a stream as blocks of which one at a time is open. */
export interface BlockStream {
  add(delta: MessageDelta): string;
  /** Closes what is open. */
  end(): string;
  /** All blocks that were opened so far. */
  readonly blocks: readonly Block[];
}

/** Turns the deltas of a message into the events of its blocks. */
export function blockStream(events: BlockEvents): BlockStream {
  const queue = blockQueue(events);
  const called = callStream(queue);
  const plain = { text: "", id: "", name: "" };

  const spoken = (kind: "thought" | "text" | "refusal", text: string | undefined): string => {
    if (text === undefined || text === "") return "";
    const last = queue.last();
    return queue.say(last?.block.kind === kind ? last : queue.append({ ...plain, kind }), text);
  };
  const thought = (reasoning: ChatReasoning): void => {
    const last = queue.last();
    const isSpoken = last?.block.kind === "thought" && reasoning.hidden === undefined;
    const queued = isSpoken ? last : queue.append({ ...plain, kind: "thought" });
    queued.block.reasoning = reasoning;
    queued.isWhole = always;
  };
  return {
    blocks: queue.opened,
    end: queue.end,
    add(delta) {
      let text = spoken("thought", delta.thought);
      if (delta.reasoning !== undefined) thought(delta.reasoning);
      text += spoken("text", delta.content) + spoken("refusal", delta.refusal);
      for (const url of delta.images ?? [])
        queue.append({ ...plain, kind: "image", text: url }, always);
      for (const call of delta.tool_calls ?? []) text += called(call);
      // Until here only the open block was written: what follows it may close it.
      return text + queue.advance();
    },
  };
}
