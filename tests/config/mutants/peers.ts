import type { Mutant } from "./mutant.ts";

const signature = "adapters/peers/signature.ts";
const tests = ["tests/local/peer-signature", "tests/local/peers"];

/** Those of calls between processes and nodes. */
export const peerMutants: readonly Mutant[] = [
  {
    name: "a request between nodes has the right signature",
    file: signature,
    find: "return a.length === b.length && timingSafeEqual(a, b);",
    replace: "return a.length === b.length;",
    tests,
  },
  {
    name: "a request between nodes is not too old",
    file: signature,
    find: "if (!(Math.abs(apart) <= WINDOW_MS))",
    replace: "if (Number.isNaN(apart))",
    tests,
  },
  {
    name: "a request between nodes is taken once",
    file: signature,
    find: "|| sender.seen.has(count)",
    replace: "",
    tests,
  },
  {
    name: "a request that too many have overtaken is not taken",
    file: signature,
    find: "!(count > sender.highest - MAX_APART) ||",
    replace: "",
    tests,
  },
  {
    name: "a request between nodes has the head that was signed",
    file: "adapters/peers/serve-peers.ts",
    find: "admission.hash !== null && hashOf(bytes) !== admission.hash",
    replace: "false",
    tests,
  },
  {
    name: "a process of another version calls no actors",
    file: "adapters/peers/serve-peers.ts",
    find: "if (from.headers[SPEAKS] !== encodeURIComponent(speaks)) return { status: UNLIKE, text: speaks };",
    replace: "",
    tests: ["tests/local/peers"],
  },
  {
    name: "a node that leaves starts no call",
    file: "adapters/peers/serve-peers.ts",
    find: 'if (isLeaving) return { status: MOVED, text: "" };',
    replace: "",
    tests: ["tests/local/peers"],
  },
  {
    name: "the head of a request between nodes is bounded",
    file: "adapters/peers/link.ts",
    find: "if (end > MAX_HEAD) {",
    replace: "if (end < 0) {",
    tests: ["tests/local/peers"],
  },
  {
    name: "a message between nodes puts nothing where nothing of it is",
    file: "adapters/peers/plain-codec.ts",
    find: " && Object.hasOwn(target, key)",
    replace: "",
    tests: ["tests/local/plain-codec"],
  },
  {
    name: "bytes of a message that was cut off are not made up",
    file: "adapters/peers/plain-codec.ts",
    find: 'if (at + length > bytes.length) throw new RangeError("Bytes are missing");',
    replace: "",
    tests: ["tests/local/plain-codec"],
  },
  {
    name: "a call of an actor that is elsewhere is sent back",
    file: "adapters/peers/serve-peers.ts",
    find: "state.isLeaving || options.isHere?.(message.kind, message.name) === false",
    replace: "state.isLeaving",
    tests: ["tests/local/peers"],
  },
  {
    name: "a request to an actor that is elsewhere is sent back",
    file: "adapters/peers/serve-peers.ts",
    find: "if (options.isHere?.(kind, name) === false) return refuse(MOVED);",
    replace: "",
    tests: ["tests/local/peers"],
  },
  {
    name: "a node whose slot has changed hands writes nothing",
    file: "adapters/postgres/transaction.ts",
    find: "AND mine.epoch = one.epoch ORDER",
    replace: "AND mine.epoch >= one.epoch ORDER",
    tests: ["tests/local/postgres/leases"],
  },
  {
    name: "a node whose lease has run out answers nothing",
    file: "adapters/postgres/slots/leases.ts",
    find: " && isValid();",
    replace: ";",
    tests: ["tests/local/postgres/leases"],
  },
  {
    name: "a lease that ran out holds again only once it is known which slots others have taken",
    file: "adapters/postgres/slots/leases.ts",
    find: "const held = performance.now() < state.validUntil;",
    replace: "const held = true;",
    tests: ["tests/local/postgres/leases"],
  },
  {
    name: "a node takes no slot of one that lives",
    file: "adapters/postgres/slots/lease-store.ts",
    find: "WHERE expires <= clock_timestamp() FOR SHARE",
    replace: "WHERE expires > clock_timestamp() FOR SHARE",
    tests: ["tests/local/postgres/leases"],
  },
  {
    name: "actors that another node has had meanwhile leave the memory",
    file: "adapters/postgres/slots/leases.ts",
    find: "if (lost.size > 0) await drop(lost, 0);",
    replace: "",
    tests: ["tests/local/postgres/leases"],
  },
  {
    name: "refused requests of other nodes do not fill the log",
    file: "adapters/peers/serve-peers.ts",
    find: "if (now - last < REFUSAL_MS)",
    replace: "if (false)",
    tests: ["tests/local/peers"],
  },
];
