import { words } from "./segment.ts";

/** Languages whose words are found by their stems; English is the index's own. */
export type StemmedLanguage =
  | "arabic"
  | "danish"
  | "dutch"
  | "finnish"
  | "french"
  | "german"
  | "hungarian"
  | "italian"
  | "norwegian"
  | "portuguese"
  | "romanian"
  | "russian"
  | "spanish"
  | "swedish"
  | "turkish";

/** Frequent words by which a language shows, in lower case and without accents; those that several share tell less. */
const frequent: Readonly<Record<StemmedLanguage | "english", string>> = {
  english:
    "the of and to in is that for it with as was on are by this be at from or an which not have",
  arabic: "في من على الى ان التي الذي عن هذا هذه كان ما مع",
  danish:
    "og det er en til af den for ikke med der som paa et har jeg fra eller ved kan blev hvor efter",
  dutch:
    "de het een van en is dat op te in niet met voor zijn er aan door als ook maar bij wordt naar deze",
  finnish:
    "ja on ei se etta oli hanen mutta kun niin han ovat tai myos joka jotka kuin sen ovat olla",
  french:
    "le la les des et est une dans que pour qui sur avec pas par plus ce il sont au du aux cette nous",
  german:
    "der die das und ist nicht ein eine den von mit zu auf fur dem des im sich auch werden als bei wird",
  hungarian:
    "az es hogy nem egy van meg volt mint csak ezt ha amely vagy ez azt kell lehet minden utan",
  italian:
    "il di che la e per una sono con non del della dei le gli nel alla piu come anche dalla questo",
  norwegian:
    "og det er en til av den for ikke med som pa et har jeg fra eller ved kan ble hvor etter",
  portuguese:
    "de que o a os as e do da em um uma para com nao por mais dos das no na ao pelo sao como foi",
  romanian:
    "si in de la cu nu pe este care pentru din sau mai au fost prin acest sunt ca o un se intre",
  russian: "и в не на что с по это как из для от то он она они или был были также которыи при",
  spanish:
    "el la de que los las y en un una por con para del se es al no como mas su lo esta son sobre",
  swedish:
    "och det ar en att som pa av for med den inte ett till har de om fran eller kan var efter vid",
  turkish:
    "ve bir bu da de icin ile olarak olan gibi daha cok en ne kadar sonra ama degil veya her",
};

const listed: readonly (readonly [StemmedLanguage | "english", ReadonlySet<string>])[] =
  Object.entries(frequent).map(([name, list]) => [
    // `as`: the keys of the table.
    name as StemmedLanguage | "english",
    new Set(list.split(" ")),
  ]);

/** Words that a text must have, different frequent ones among them, and the share of its words that these must be. */
const WORDS = 8;
const LEAST = 3;
const SHARE = 0.12;

/** Returns the language of a text of some sentences; null for English, for other languages, and where it does not show. */
export function textLanguage(text: string): StemmedLanguage | null {
  const all = words(text, "index");
  if (all.length < WORDS) return null;
  let best: { name: StemmedLanguage | "english"; count: number } = { name: "english", count: 0 };
  for (const [name, known] of listed) {
    const found = all.filter((word) => known.has(word));
    if (new Set(found).size >= LEAST && found.length > best.count)
      best = { name, count: found.length };
  }
  return best.name === "english" || best.count < SHARE * all.length ? null : best.name;
}
