/** Words that say nothing of what is asked. */
const filling =
  "a an the this that these those it its itself there here and is are am be been being do does doing " +
  "of to so then than just very what which please hi hello hey thanks thank kindly also can could";

/** Words longer than {@link SHORT} that turn a question into another one: English ones, then negations of other languages. */
const turning = [
  "none never nobody nothing nowhere neither either without except only hardly barely instead rather versus against " +
    "despite whether because while although",
  "whom whose when where during until till since before after once again further",
  "were didn will would should shall must might ought need have having",
  "about into from with over under above below between through upon down left right inside outside near behind " +
    "across around within beyond toward towards north south east west",
  "some each every both many much more most less least enough several same other another such else",
  "first second third last next previous final initial three four five seven eight nine eleven twelve twenty thirty " +
    "fifty hundred thousand million billion zero half double twice triple quarter dozen",
  "today tomorrow yesterday tonight later soon early late earlier morning evening night weekly daily monthly yearly " +
    "always sometimes often rarely still already",
  "monday tuesday wednesday thursday friday saturday sunday january february march april june july august september " +
    "october november december spring summer autumn fall winter",
  "best worst better worse good high higher lower highest lowest small bigger smaller biggest smallest large little " +
    "larger largest long short longer shorter longest shortest fast slow faster slower fastest slowest cheap " +
    "expensive cheaper cheapest older newer oldest newest young cold warm cool heavy light strong weak easy hard safe " +
    "dangerous wrong true false positive negative minimum maximum plus minus",
  "sell enable disable allow deny permit forbid block accept reject start stop begin open close remove delete " +
    "create keep drop gain lose rise raise grow shrink push pull send receive give take lend borrow import export " +
    "include exclude increase decrease input output upload download encode decode encrypt decrypt connect disconnect " +
    "install uninstall subscribe unsubscribe lock unlock mute show hide merge split join leave advantage disadvantage " +
    "advantages disadvantages pros cons benefit benefits risk risks legal illegal",
  "woman women girl boys girls male female husband wife mother father parent child daughter brother sister",
  "dollar dollars euro euros pound pounds percent seconds minute minutes hour hours days week weeks month months " +
    "year years kilometer kilometers kilometre kilometres mile miles meter meters metre metres feet foot inch inches " +
    "kilogram kilograms gram grams ounce ounces liter liters litre litres gallon gallons celsius fahrenheit kelvin",
  "nicht kein keine keinen keinem keiner niemals ohne außer nichts weder",
  "jamais sans sauf aucun aucune rien seulement",
  "nunca ningún ninguna nada tampoco salvo solo sólo",
  "senza niente nessuno nessuna nenhum nenhuma niet geen nooit zonder nigdy ikke ingen aldri inte aldrig utan ilman " +
    "fără bukan tidak tanpa değil",
].join(" ");

/** Letters of words of which none may differ: they weigh too little in a vector, and most negations are so short. */
const SHORT = 3;

/** Who is meant; several words for the same person are one. */
const persons: Readonly<Record<string, string>> = {
  "1": "i me my mine myself we us our ours ourselves",
  "2": "you your yours yourself yourselves",
  "3m": "he him his himself",
  "3f": "she her hers herself",
  "3p": "they them their theirs themselves",
};

const fillers: ReadonlySet<string> = new Set(filling.split(" "));
const turningWords: ReadonlySet<string> = new Set(turning.split(" "));
const personOf: ReadonlyMap<string, string> = new Map(
  Object.entries(persons).flatMap(([person, words]) =>
    words.split(" ").map((word): [string, string] => [word, `person ${person}`]),
  ),
);

/** What a lower-case word does in a question: `null` = nothing; `fixed` = no question that lacks it is the same. */
export function roleOf(word: string): { readonly text: string; readonly fixed: boolean } | null {
  if (/^(?:(?:do|does|is|are|ca)n'?t|cannot)$/u.test(word)) return { text: "not", fixed: true };
  const base = word.replace(/'(?:s|re|ve|m)$/u, "");
  const person = personOf.get(base);
  if (person !== undefined) return { text: person, fixed: true };
  if (fillers.has(base)) return null;
  const isContracted =
    /n't$|'(?:d|ll)$|^(?:did|was|were|wo|could|would|should|has|have|had|must)nt$/u.test(base);
  const isShort = base.length <= SHORT;
  const fixed = isShort || isContracted || base.endsWith("less") || turningWords.has(base);
  return { text: base, fixed };
}
