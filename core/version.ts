/** The version of the package, which core cannot read from its manifest; a test compares them. */
export const VERSION = "0.1.0";
