/** Counted up with what nodes say to each other: those more than one apart do not call each other. */
export const PROTOCOL = "causey cluster 1";
