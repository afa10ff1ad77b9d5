/** Words of six topics; texts of our own are put together from them. */
const topics: readonly (readonly [subject: string, verb: string, object: string])[][] = [
  [
    ["choir", "sings", "melody"],
    ["violin", "plays", "concerto"],
    ["orchestra", "rehearses", "symphony"],
    ["composer", "writes", "song"],
    ["pianist", "performs", "sonata"],
    ["drummer", "keeps", "rhythm"],
  ],
  [
    ["sailor", "drops", "anchor"],
    ["ferry", "leaves", "harbour"],
    ["captain", "reads", "chart"],
    ["ship", "rounds", "cape"],
    ["crew", "hoists", "sail"],
    ["lighthouse", "warns", "vessel"],
  ],
  [
    ["baker", "kneads", "dough"],
    ["oven", "browns", "bread"],
    ["miller", "grinds", "flour"],
    ["yeast", "raises", "loaf"],
    ["cook", "salts", "soup"],
    ["chef", "whisks", "cream"],
  ],
  [
    ["surgeon", "stitches", "wound"],
    ["nurse", "measures", "fever"],
    ["doctor", "prescribes", "medicine"],
    ["patient", "visits", "hospital"],
    ["vaccine", "prevents", "infection"],
    ["clinic", "treats", "injury"],
  ],
  [
    ["gardener", "prunes", "rose"],
    ["bee", "visits", "blossom"],
    ["farmer", "ploughs", "field"],
    ["seed", "becomes", "seedling"],
    ["rain", "waters", "orchard"],
    ["worm", "loosens", "soil"],
  ],
  [
    ["lawyer", "drafts", "contract"],
    ["judge", "hears", "appeal"],
    ["jury", "reaches", "verdict"],
    ["witness", "signs", "statement"],
    ["court", "grants", "injunction"],
    ["clerk", "files", "lawsuit"],
  ],
];

/** Sentences that share the words of their topic: three facts each, in every combination of neighbours. */
export const topicTexts: readonly string[] = topics.flatMap((facts) =>
  facts.flatMap((first, i) =>
    facts.flatMap((second, j) =>
      i === j
        ? []
        : [
            `The ${first[0]} ${first[1]} the ${first[2]}, and the ${second[0]} ${second[1]} the ${second[2]}.`,
            `A ${second[0]} near a ${first[0]}: one ${second[1]} a ${second[2]} while the other ${first[1]} a ${first[2]}.`,
          ],
    ),
  ),
);
