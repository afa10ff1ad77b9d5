/** English words that carry no topic. They are left out of queries, never out of the index. */
const list =
  "a about above after again against all also am an and any are aren as at be because been before being " +
  "below between both but by can cannot could couldn d did didn do does doesn doing don down during each " +
  "few for from further had hadn has hasn have haven having he her here hers herself him himself his how " +
  "i if in into is isn it its itself just ll m may me might more most must my myself no nor not now o of " +
  "off on once only or other our ours ourselves out over own re s same shan she should shouldn so some " +
  "such t than that the their theirs them themselves then there these they this those through to too " +
  "under until up upon ve very was wasn we were weren what when where which while who whom why will with " +
  "won would wouldn you your yours yourself yourselves";

const stopWords: ReadonlySet<string> = new Set(list.split(" "));

/** Whether a lower-case word is an English stop word. */
export function isStopWord(word: string): boolean {
  return stopWords.has(word);
}
