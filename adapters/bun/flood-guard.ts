/** Messages after which it is looked at whether they came in one turn. */
const LOOKED_AT = 1000;
/** Messages of one turn that a connection may send: Bun reads as long as a client sends, and serves no other one. */
const MOST_IN_TURN = 5000;

/** Returns the counter of a connection's messages, which says whether there were too many in one turn. */
export function floodGuard(): () => boolean {
  let inTurn = 0;
  return () => {
    inTurn += 1;
    if (inTurn === LOOKED_AT) {
      setImmediate(() => {
        inTurn = 0;
      });
    }
    return inTurn > MOST_IN_TURN;
  };
}
