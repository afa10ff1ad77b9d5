/**
 * Plain data that crosses an actor boundary: JSON values, `undefined` members and bytes.
 * Receivers treat it as immutable: in one process it is passed by reference, on Workers it is cloned.
 */
export type Plain =
  | string
  | number
  | boolean
  | null
  | undefined
  | Uint8Array
  | readonly Plain[]
  | { readonly [key: string]: Plain };
