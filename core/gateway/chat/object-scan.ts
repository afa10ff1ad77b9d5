/** Follows the text of a JSON object as its pieces arrive. */
export interface ObjectScan {
  push(piece: string): void;
  /** Whether the object has ended: no piece can follow. */
  isWhole(): boolean;
}

/** Starts to follow an object; each character is looked at once. */
export function objectScan(): ObjectScan {
  let depth = 0;
  let begun = false;
  let inString = false;
  let escaped = false;
  const look = (character: string): void => {
    if (inString) {
      if (escaped) escaped = false;
      else if (character === "\\") escaped = true;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === "{" || character === "[") {
      depth++;
      begun = true;
    } else if (character === "}" || character === "]") depth--;
  };
  return {
    push(piece) {
      for (let at = 0; at < piece.length; at++) look(piece.charAt(at));
    },
    isWhole: () => begun && !inString && depth <= 0,
  };
}
