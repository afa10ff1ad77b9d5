/** One header, as a name in lower case and a value; repeated names stay separate. */
export type HeaderPair = readonly [name: string, value: string];
