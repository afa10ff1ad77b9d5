import { afterEach, describe, expect, it } from "vitest";
import { instanceLanguages } from "../../../core/search/state/instance-languages.ts";
import { otherForms } from "../../../core/search/query/other-forms.ts";
import type { InstanceState } from "../../../core/search/state/instance-state.ts";
import { textLanguage } from "../../../core/search/text/languages.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";

const texts: Readonly<Record<string, string>> = {
  arabic: "هذا الكتاب من اهم الكتب التي كانت في المكتبة على مر السنين مع الاطفال",
  danish: "Huset blev bygget af en fisker, og det er ikke langt fra havnen, hvor der er både.",
  dutch: "Het huis van de visser is niet ver van de haven en er zijn ook boten op het water.",
  finnish: "Talo on lähellä satamaa ja se ei ole suuri, mutta siellä on myös vene, joka oli uusi.",
  french:
    "La maison est près du port et les bateaux sont dans la rade avec des voiles pour la pêche.",
  german:
    "Das Haus ist nicht weit von dem Hafen, und die Boote werden mit einem Seil an den Steg gebunden.",
  hungarian:
    "A ház nem messze van a kikötőtől, és az egy régi épület, amely csak nyáron van nyitva, hogy ha kell.",
  italian:
    "La casa non è lontana dal porto e le barche sono nel molo con gli attrezzi per la pesca della zona.",
  norwegian:
    "Huset ble bygget av en fisker, og det er ikke langt fra havna, hvor det er båter som har seil.",
  portuguese:
    "A casa não fica longe do porto e os barcos são usados para a pesca com redes na costa do mar.",
  romanian:
    "Casa nu este departe de port și bărcile sunt folosite pentru pescuit în zona care a fost închisă din mai.",
  russian: "Дом стоит не далеко от порта, и это был старый дом, в который приходили на лодках.",
  spanish:
    "La casa no está lejos del puerto y los barcos son para la pesca con las redes en el mar.",
  swedish:
    "Huset är inte långt från hamnen och det har en brygga som är gjord av trä för att båtar kan ligga.",
  turkish: "Bu ev limana çok yakın ve balık için bir tekne gibi olan küçük bir sandal ile gidilir.",
};

describe("the language of a text", () => {
  it.each(Object.entries(texts))("shows by its frequent words: %s", (language, text) => {
    expect(textLanguage(text)).toBe(language);
  });

  it("is none for English, for a few words and for code", () => {
    for (const text of [
      "The house is not far from the harbour, and the boats are tied to the pier with a rope.",
      "Die Hard",
      "const de = la.map((el) => el.en);",
      "",
    ])
      expect([text, textLanguage(text)]).toEqual([text, null]);
  });
});

describe("a search in another language", () => {
  let api: SearchUnderTest;
  afterEach(() => api.close());

  it.each([
    ["german", "Häusern", "Das Haus ist nicht weit von dem Hafen, und es ist alt.", "haus"],
    [
      "french",
      "continuelle",
      "Les pluies continuelles sont dans la région avec des vents.",
      "continuelles",
    ],
    [
      "spanish",
      "pescador",
      "Los pescadores no están en el puerto y las redes son nuevas.",
      "pescadores",
    ],
    ["russian", "лодка", "В порту не было ни одной лодки, и это был вечер на реке.", "лодки"],
    ["swedish", "båtar", "Det är en båt som ligger i hamnen och den har inte segel.", "båt"],
    ["turkish", "evler", "Bu ev limana çok yakın ve çok eski bir yapı gibi olan bir ev.", "ev"],
  ])("finds other forms of a word: %s", async (_language, query, text, form) => {
    api = await searchUnderTest({}, { index_method: { vector: false, keyword: true } });
    await api.upload("found.md", text);
    await api.upload("other.md", text.replaceAll(new RegExp(form, "giu"), "xyz"));
    const found = await api.search(query, {
      keyword_match_mode: "and",
      show_matches_position: true,
    });
    expect(found.map(({ item }) => item.key)).toEqual(["found.md"]);
    // It is what was asked for, and says so.
    expect(found[0]?.scoring_details.coverage).toBe(1);
  });

  const german =
    "das ist nicht weit von dem Hafen, und die Boote werden auch mit einem Seil gebunden.";
  const arabic = "هذا الكتاب من اهم الكتب التي كانت في المكتبة على مر السنين مع الاطفال";

  it.each([
    ["Muellerstrasse", `Die Müllerstraße: ${german}`],
    ["Müllerstraße", `Die Muellerstrasse: ${german}`],
    ["Strasse", `Die Müllerstraße: ${german}`],
    ["Müllerstraße", `Die MÜLLERSTRASSE: ${german}`],
    ["Haeuser", `Viele Häuser: ${german}`],
    ["العالم", `${arabic} بالعالم`],
    ["العالم", `${arabic} والعالم`],
    ["عالم", `${arabic} للعالم`],
    ["والعالم", `${arabic} بالعالم`],
    ["بالعالم", `${arabic} العالم`],
    ["배우다", "한국어를 배우는 사람들이 많습니다."],
  ])("finds %s as it is written in: %s", async (query, text) => {
    api = await searchUnderTest({}, { index_method: { vector: false, keyword: true } });
    await api.upload("found.md", text);
    await api.upload("other.md", /\p{Script=Arabic}/u.test(text) ? arabic : german);
    const found = await api.search(query, { keyword_match_mode: "and" });
    expect(found.map(({ item }) => item.key)).toEqual(["found.md"]);
  });

  it("takes no short word for another spelling, and no letters that belong to two sounds", async () => {
    api = await searchUnderTest({}, { index_method: { vector: false, keyword: true } });
    await api.upload("one.md", `Der Pot und der Nuer Nu und die Fraun sind da. ${german}`);
    for (const query of ["Poet", "neuer", "Frauen"])
      expect(await api.search(query, { keyword_match_mode: "and" }), query).toEqual([]);
  });

  it("takes no word of another stem for a form", async () => {
    api = await searchUnderTest({}, { index_method: { vector: false, keyword: true } });
    await api.upload("haus.md", "Das Haus ist nicht weit von dem Hafen, und es ist alt.");
    await api.upload(
      "meister.md",
      "Der Hausmeister ist nicht mit dem Boot gefahren, und das ist gut.",
    );
    const found = await api.search("Häusern");
    expect(found.map(({ item }) => item.key)).toEqual(["haus.md"]);
  });

  it("changes nothing where all texts are English", async () => {
    api = await searchUnderTest({}, { index_method: { vector: false, keyword: true } });
    await api.upload(
      "a.md",
      "The haus of the fisherman is not far from the harbour and it is old.",
    );
    expect(await api.search("hausern")).toEqual([]);
  });
});

describe("the languages of an instance", () => {
  const german = texts["german"];
  const french = texts["french"];

  it("are looked at again in an instance that was made anew", async () => {
    const api = await searchUnderTest({}, { index_method: { vector: false, keyword: true } });
    const settings = { index_method: { vector: false, keyword: true } };
    const other = "В порту не было ни одной лодки, и это был вечер на реке.";
    for (let n = 0; n < 3; n++) await api.upload(`${n}.md`, `${String(german)} ${n}`);
    await api.search("Häusern");
    await api.call("DELETE", "/instances/main");
    await api.call("POST", "/instances", { id: "main", ...settings });
    await api.upload("a.md", other);
    expect(await api.search("лодка")).toHaveLength(1);
    await api.close();
  });

  it("are those of the last chunks where most of the others are gone", async () => {
    const rows = new Map([
      [2, german],
      [5001, french],
      [5003, french],
    ]);
    const asked: string[] = [];
    const sql = {
      all(text: string, [, ids]: readonly unknown[] = []) {
        asked.push(text);
        const wanted = text.includes("ORDER BY id DESC LIMIT 200")
          ? [...rows.keys()]
          : Object.keys(JSON.parse(String(ids)) as object).map(Number);
        return Promise.resolve(
          wanted.flatMap((id) => (rows.has(id) ? [{ heading: "", text: rows.get(id) ?? "" }] : [])),
        );
      },
    };
    const languages = instanceLanguages({ name: "x", sql });
    expect(await languages.of(10_000)).toEqual(["french", "german"]);
    expect(asked).toHaveLength(2);
    const all = Array.from({ length: 300 }, (_, n) => [n + 1, french] as const);
    for (const [id, text] of all) rows.set(id, text);
    languages.forget();
    expect(await languages.of(301)).toEqual(["french"]);
    expect(asked).toHaveLength(3);
  });
});

describe("a long query in another language", () => {
  it("has other forms looked for of its first words alone, and lets others go on in between", async () => {
    const seen: string[] = [];
    const state = {
      facts: () => ({ nextChunk: 9, chunks: 8 }),
      languages: { of: () => Promise.resolve(["german"]) },
      longWords: { kept: () => Promise.resolve([]) },
      keywords: {
        words: () => Promise.resolve("words"),
        all: () => (seen.push("look"), Promise.resolve([])),
      },
      context: { system: { sleep: () => (seen.push("pause"), Promise.resolve()) } },
    };
    const boots = Array.from({ length: 26 }, (_, n) => `boot${String.fromCodePoint(97 + n)}`);
    const words = ["7", "x1", ...boots];
    // `as`: the members that it looks at.
    await otherForms(state as unknown as InstanceState, words);
    expect(seen).toEqual(Array.from({ length: 16 }, () => ["look", "pause"]).flat());
  });
});
