import { expect, it } from "vitest";
import { searchUnderTest } from "../../fakes/search-api.ts";

const text = `# Rise of CO<sub>2</sub>

**W**embley and under*stand*able words, H<sub>2</sub>O, the 1<sup>st</sup> report, ~~re~~made, un\u00adbe\u00adliev\u00adable, note<sup>7</sup>.`;
const queries = "CO2 H2O 1st Wembley understandable remade unbelievable note stand report".split(
  " ",
);

for (const tokenizer of ["porter", "trigram"])
  it(`a word that marks cut is found whole, and by its parts (${tokenizer})`, async () => {
    const settings = { indexing_options: { keyword_tokenizer: tokenizer } };
    const api = await searchUnderTest({}, settings);
    await api.upload("a.md", text);
    await api.upload("b.md", "Nothing of that kind.");
    const found = await Promise.all(
      queries.map(async (query) => [
        query,
        (await api.search(query, { retrieval_type: "keyword" })).map(({ item }) => item?.key),
      ]),
    );
    expect(Object.fromEntries(found)).toEqual(
      Object.fromEntries(queries.map((query) => [query, ["a.md"]])),
    );
    await api.close();
  });
