import fc from "fast-check";

/**
 * The seed of every property test. Fixed, so that a change is never refused for a case that another seed would have
 * found before it; `CAUSEY_TEST_SEED=random` or a number looks for new ones.
 */
const wanted = process.env["CAUSEY_TEST_SEED"];
if (wanted !== "random") fc.configureGlobal({ seed: Number(wanted ?? 20_261_121) });
