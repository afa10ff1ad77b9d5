import { stemmer as danish } from "@orama/stemmers/danish";
import { stemmer as dutch } from "@orama/stemmers/dutch";
import { stemmer as german } from "@orama/stemmers/german";
import { stemmer as swedish } from "@orama/stemmers/swedish";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { endingWith } from "../../../core/search/query/compounds.ts";
import { stem } from "../../../core/search/text/porter.ts";
import { words } from "../../../core/search/text/segment.ts";
import { createLongWords } from "../../../core/search/state/long-words.ts";
import { runThrough } from "../../../core/work/background.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";

/** Which of some words are compounds that end with a word. */
function found(word: string, among: string, stemmed: (word: string) => string): string[] {
  const all = words(among, "index");
  const lines = `\n${all.map(stem).join("\n")}\n`;
  const terms = new Set(runThrough(endingWith(lines, words(word, "query")[0] ?? "", stemmed)));
  return all.filter((one) => terms.has(stem(one)));
}

describe("endingWith()", () => {
  it.each([
    ["Versicherung", "Haftpflichtversicherung Krankenversicherungen Versicherungsnehmer", 2],
    ["Versicherungen", "Haftpflichtversicherung versichern", 1],
    ["Vertrag", "Arbeitsvertrag Mietverträge Bauvertrags Vertragsbruch Verträge", 3],
    ["Steuer", "Kraftfahrzeugsteuer Umsatzsteuern Steuerung", 2],
    ["Stand", "Gegenstand Widerstand Verstand Bestand Gesamtstand", 1],
    ["Rechnung", "Stromrechnung Abrechnung Jahresrechnungen", 2],
    ["Kosten", "Nebenkosten Heizkosten", 2],
  ])("German: %s in %s", (word, among, count) => {
    expect(found(word, among, german)).toHaveLength(count);
  });

  it("finds them in other languages", () => {
    expect(found("verzekering", "autoverzekeringen verzekeren", dutch)).toHaveLength(1);
    expect(found("försäkring", "hemförsäkringen bilförsäkringar", swedish)).toHaveLength(2);
    expect(found("forsikring", "ansvarsforsikringen forsikre", danish)).toHaveLength(1);
  });

  it("lets others go on while it looks at many words", () => {
    const lines = `\n${Array.from({ length: 3000 }, (_, n) => `abc${n}vertragx`).join("\n")}\n`;
    expect([...endingWith(lines, "vertrag", german)]).toHaveLength(10);
  });
});

describe("createLongWords()", () => {
  it("adds the words of short texts, and reads all again after a long one", async () => {
    let reads = 0;
    const keywords = {
      words: () => Promise.resolve("terms"),
      all: () => {
        reads += 1;
        return Promise.resolve([{ terms: "mietvertrag" }]);
      },
    };
    const longWords = createLongWords(keywords);
    expect(await longWords.all({})).toBe("\nmietvertrag\n");
    longWords.add(["Bauvertrag"]);
    expect(await longWords.all({})).toBe("\nmietvertrag\nbauvertrag\n");
    longWords.add(Array.from({ length: 10 }, () => "Bauvertrag ".repeat(1000)));
    expect(await longWords.all({})).toBe("\nmietvertrag\n");
    expect(reads).toBe(2);
  });
});

describe("compounds", () => {
  let api: SearchUnderTest;
  const keys = async (query: string): Promise<string[]> =>
    (await api.search(query, { retrieval_type: "keyword" })).map(({ item }) => item.key);
  const upload = (key: string, text: string) => api.upload(key, text);
  beforeEach(async () => {
    api = await searchUnderTest({}, { index_method: { vector: false, keyword: true } });
    await upload("1.md", "Die Haftpflichtversicherung wird von dem Verein auf ein Jahr bezahlt.");
  });
  afterEach(() => api.close());

  it("are found by their last word, with its full coverage", async () => {
    const [first] = await api.search("Versicherung", { show_matches_position: true });
    expect(first?.item.key).toBe("1.md");
    expect(first?.scoring_details.coverage).toBe(1);
  });

  it("weigh less than the word itself, though they are rarer", async () => {
    for (let n = 0; n < 6; n++)
      await upload(`exact-${n}.md`, "Die Versicherung wird von dem Verein auf ein Jahr bezahlt.");
    for (let n = 0; n < 30; n++) await upload(`none-${n}.md`, "Das ist nicht von dem Verein, und.");
    await upload("rare.md", "Die Tierversicherung wird von dem Verein auf ein Jahr bezahlt.");
    const all = await keys("Versicherung");
    expect(all).toHaveLength(8);
    expect(all.slice(-2)).toEqual(["1.md", "rare.md"]);
  });

  it("are found when they came after the first question, and no more when they are gone", async () => {
    expect(await keys("Vertrag")).toEqual([]);
    await upload("2.md", "Der Arbeitsvertrag ist nicht von dem Chef, und er wird nicht bezahlt.");
    expect(await keys("Vertrag")).toEqual(["2.md"]);
    await upload("2.md", "Das ist nicht mehr da, und es wird auch nicht mehr sein.");
    expect(await keys("Vertrag")).toEqual([]);
  });
});

describe("English texts", () => {
  it("have no compounds", async () => {
    const api = await searchUnderTest({}, { index_method: { vector: false, keyword: true } });
    await api.upload("1.md", "The haftpflichtversicherung is paid by the club for this year.");
    expect(await api.search("Versicherung")).toEqual([]);
    await api.close();
  });
});
