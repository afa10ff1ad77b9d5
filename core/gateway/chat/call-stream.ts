import { TransportError } from "../../net/transport-error.ts";
import { always, type BlockQueue, type QueuedBlock } from "./block-queue.ts";
import { type ObjectScan, objectScan } from "./object-scan.ts";
import type { ToolCallDelta } from "./reply.ts";

interface StreamedCall extends QueuedBlock {
  readonly scan: ObjectScan;
  /** Whether its id is the provider's. */
  hasOwnId: boolean;
}

/** Follows the tool calls of a stream: each has a buffer of its own, because providers mix their pieces. */
export function callStream(queue: BlockQueue): (delta: ToolCallDelta) => string {
  const calls = new Map<number, StreamedCall>();
  return (delta) => {
    const known = calls.get(delta.index);
    // Some providers give every whole call the same index.
    const isOther = known !== undefined && isAnother(delta, known);
    if (isOther) known.isWhole = always;
    const call = known === undefined || isOther ? begun(delta, queue) : known;
    if (call === known) nameLate(delta, call);
    else calls.set(delta.index, call);
    const piece = delta.function.arguments ?? "";
    if (queue.has(call)) {
      call.scan.push(piece);
      return queue.say(call, piece);
    }
    if (piece.trim() === "") return "";
    throw new TransportError("broken", "The provider went on with a tool call that had ended");
  };
}

function begun(
  { id, index, function: made, extra_content: extra }: ToolCallDelta,
  queue: BlockQueue,
): StreamedCall {
  const scan = objectScan();
  const queued = queue.append({
    kind: "call",
    text: "",
    id: id ?? `call_${index}`,
    name: made.name ?? "",
    ...(extra === undefined ? {} : { extra }),
  });
  const hasFollower = queued.isWhole;
  queued.isWhole = () => hasFollower() && scan.isWhole();
  return Object.assign(queued, { scan, hasOwnId: id !== undefined });
}

function isAnother({ id, function: made }: ToolCallDelta, known: StreamedCall): boolean {
  return known.hasOwnId && id !== undefined && id !== known.block.id && (made.name ?? "") !== "";
}

/** Some providers send the name, or the id with it, behind the first piece. */
function nameLate({ id, function: made }: ToolCallDelta, call: StreamedCall): void {
  const { block } = call;
  if (block.name !== "") return;
  block.name = made.name ?? "";
  if (id !== undefined) [block.id, call.hasOwnId] = [id, true];
}
