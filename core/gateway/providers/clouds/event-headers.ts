/** Bytes of a header's value by its type; types 6 and 7 begin with their length. */
const sizes: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 };
const BYTES = 6;
const STRING = 7;

const decoder = new TextDecoder();

/**
 * Reads the headers of a frame that are strings (Smithy's specification "Amazon Event Stream": the length of a name in one
 * byte, the name, the type of its value in one byte, the value). Headers behind a malformed one are left out.
 */
export function eventHeaders(bytes: Uint8Array): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length;) {
    const nameEnd = at + 1 + view.getUint8(at);
    if (nameEnd >= bytes.length) break;
    const type = view.getUint8(nameEnd);
    const isLong = type === BYTES || type === STRING;
    const start = nameEnd + (isLong ? 3 : 1);
    if (start > bytes.length) break;
    const end = start + (isLong ? view.getUint16(nameEnd + 1) : (sizes[type] ?? bytes.length));
    if (end > bytes.length) break;
    if (type === STRING)
      found.set(
        decoder.decode(bytes.subarray(at + 1, nameEnd)),
        decoder.decode(bytes.subarray(start, end)),
      );
    at = end;
  }
  return found;
}
