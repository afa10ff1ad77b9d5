import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";

let api: SearchUnderTest;
beforeAll(async () => {
  api = await searchUnderTest(
    {},
    {
      custom_metadata: [
        { field_name: "author", data_type: "text" },
        { field_name: "date", data_type: "datetime" },
        { field_name: "draft", data_type: "boolean" },
      ],
    },
  );
});
afterAll(() => api.close());

async function upload(key: string, text: string, type = "text/plain", metadata?: unknown) {
  const { status, body } = await api.upload(key, text, { type, metadata });
  expect([status, body.errors, body.result?.status]).toEqual([200, [], "completed"]);
  const found = await api.call("GET", `/instances/main/items/${body.result.id}/chunks`);
  const chunks = found.body.result.map((chunk) => ("text" in chunk ? String(chunk.text) : ""));
  return { item: body.result, chunks, warnings: body.result.warnings ?? [] };
}

/** The headings of the best result for a query. */
async function headingOf(query: string): Promise<string | undefined> {
  return (await api.search(query))[0]?.heading;
}

describe("CSV", () => {
  const table = "| Name | Amount |\n| --- | --- |\n| Ibex | 12,5 |\n| Kudu | 7 |";

  it.each([
    ["a separator that its first line names", "sep=;\r\nName;Amount\r\nIbex;12,5\r\nKudu;7\r\n"],
    ["bars", "Name|Amount\nIbex|12,5\nKudu|7\n"],
    ["semicolons beside decimal commas", "Name;Amount\nIbex;12,5\nKudu;7\n"],
    ["tabs", "Name\tAmount\nIbex\t12,5\nKudu\t7\n"],
  ])("is a table with %s", async (name, text) => {
    expect((await upload(`${name}.csv`, text)).chunks).toEqual([table]);
  });

  it("has the lines above its header above the table, filled up with separators or not", async () => {
    const { chunks } = await upload(
      "report.csv",
      "Report of sales\nGenerated 2026-01-01,,\n\nRegion,Product,Price\nEurope,Anvil,9.99\nAsia,Rocket,100\n",
    );
    expect(chunks).toEqual([
      "Report of sales\n\nGenerated 2026-01-01\n\n| Region | Product | Price |\n| --- | --- | --- |\n| Europe | Anvil | 9.99 |\n| Asia | Rocket | 100 |",
    ]);
  });

  it("keeps its rows behind a quote that is never closed", async () => {
    const rows = "| id | note |\n| --- | --- |\n| 1 | open here |\n| 2 | a kudu |\n| 3 | an ibex |";
    expect((await upload("q.csv", 'id,note\n1,"open here\n2,a kudu\n3,an ibex\n')).chunks).toEqual([
      rows,
    ]);
    expect(
      (await upload("r.csv", 'id,note\n1,"open here\n2,"a kudu"\n3,an ibex\n')).chunks,
    ).toEqual([rows]);
  });
});

describe("JSON", () => {
  it("keeps numbers as they are written", async () => {
    const { chunks } = await upload(
      "n.json",
      '{"account": 12345678901234567890, "ratio": 1.10, "list": [1e3, 2], "text": "1.10 and \\"9\\" 1e5"}',
    );
    expect(chunks).toEqual([
      'account: 12345678901234567890\nratio: 1.10\nlist: 1e3, 2\ntext: 1.10 and "9" 1e5',
    ]);
  });

  it("of lines has a bad one as text, and a warning", async () => {
    const { chunks, warnings } = await upload("b.jsonl", '{"a":"ibex"}\nnot json\n{"a":"kudu"}\n');
    expect(chunks).toEqual(["a: ibex\n\nnot json\n\na: kudu"]);
    expect(warnings).toEqual([
      { code: "line_not_json", message: "line 2: not JSON, indexed as text" },
    ]);
  });

  it("leaves out pictures that it holds", async () => {
    const data = "iVBORw0KGgo".repeat(100);
    const { chunks } = await upload(
      "p.json",
      JSON.stringify({ name: "walrus", raw: data, src: `data:image/png;base64,${data}` }),
    );
    expect(chunks).toEqual(["name: walrus\nsrc: data:"]);
  });
});

it("a notebook is its texts, its code and what that printed, without pictures", async () => {
  const picture = "iVBORw0KGgo".repeat(100);
  const cells = [
    { cell_type: "markdown", source: ["# Tides\n", "Of the pangolin bay."] },
    {
      cell_type: "code",
      source: "plot(tides)",
      outputs: [
        { output_type: "stream", text: ["high at noon\n"] },
        { output_type: "display_data", data: { "image/png": picture, "text/plain": ["<Figure>"] } },
        { output_type: "error", ename: "ValueError", evalue: "\u001b[31mno okapi\u001b[0m" },
      ],
    },
    { cell_type: "markdown", source: `![](data:image/png;base64,${picture}) below` },
  ];
  const metadata = { language_info: { name: "python" } };
  const { chunks } = await upload("a.ipynb", JSON.stringify({ cells, metadata, nbformat: 4 }));
  expect(chunks).toEqual([
    "# Tides\nOf the pangolin bay.\n\n```python\nplot(tides)\n```\n\n```\nhigh at noon\n```\n\n```\n<Figure>\n```\n\n```\nValueError: no okapi\n```\n\n![](data:) below",
  ]);
});

describe("calendars and address cards", () => {
  it("have their lines whole", async () => {
    const event =
      "BEGIN:VEVENT\r\nSUMMARY:The kan\r\n garoo\\, at noon\\nBring a coat\r\nFOLDER:C:\\\\new\r\nEND:VEVENT\r\n";
    const { chunks } = await upload("tour.ics", event);
    expect(chunks.join("\n").replaceAll("\r", "")).toContain(
      "SUMMARY:The kangaroo, at noon\nBring a coat\nFOLDER:C:\\new",
    );
  });
});

describe("subtitles", () => {
  it.each([
    [
      "a.srt",
      "1\r\n00:00:01,000 --> 00:00:02,500\r\n<i>The meerkat</i>\r\nwakes.\r\n\r\n2\r\n00:00:02,600 --> 00:00:04,000\r\nIt looks around.\r\n\r\n3\r\n00:01:04,000 --> 00:01:05,000\r\n{\\an8}Night.\r\n",
    ],
    [
      "a.vtt",
      "WEBVTT\n\nSTYLE\n::cue { color: red }\n\nintro\n00:01.000 --> 00:02.500 align:start\nThe meerkat\nwakes.\n\n00:02.600 --> 00:04.000\nIt looks around.\n\n01:04.000 --> 01:05.000\n<c.big>Night.</c>\n",
    ],
  ])("%s are words without numbers and times", async (key, text) => {
    expect((await upload(key, text)).chunks).toEqual([
      "The meerkat wakes. It looks around.\n\nNight.",
    ]);
  });

  it("name who speaks", async () => {
    const text =
      "WEBVTT - Talk\n\n00:01.000 --> 00:02.000\n<v Ada>Good &amp; well.\n\n00:02.000 --> 00:03.000\n<v Bo>Fine.\n";
    expect((await upload("v.vtt", text)).chunks).toEqual([
      "Talk\n\nAda: Good & well.\n\nBo: Fine.",
    ]);
  });
});

describe("headings", () => {
  it.each([
    [
      "h.md",
      "Walrus manual\n=============\n\nIntro.\n\nFeeding walruses\n----------------\n\nHerring daily.\n",
      "Walrus manual > Feeding walruses",
      "herring daily",
    ],
    [
      "h.rst",
      "=============\nMarmot manual\n=============\n\nIntro::\n\n    # code\n\nFeeding marmots\n===============\n\nClover daily.\n",
      "Marmot manual > Feeding marmots",
      "clover daily",
    ],
    [
      "h.adoc",
      "= Numbat manual\nAda <a@example.com>\n:toc:\n\n== Feeding numbats\n\n----\n# no heading\n----\n\nTermites daily.\n",
      "Numbat manual > Feeding numbats",
      "termites daily",
    ],
    [
      "h.org",
      "#+TITLE: Quokka manual\n# a comment\n* Feeding quokkas :food:\n#+BEGIN_SRC sh\n# code\n#+END_SRC\nLeaves daily.\n| a | b |\n|---+---|\n",
      "Quokka manual > Feeding quokkas",
      "leaves daily",
    ],
  ])("of %s are those of the result", async (key, text, heading, query) => {
    await upload(key, text);
    expect(await headingOf(query)).toBe(heading);
  });

  it("are read in a time that grows with the text, however long its lines are", async () => {
    // A second look at each blank of such a line would take hours.
    const blanks = " ".repeat(1_000_000);
    await upload("blank.org", `* A heading of yapoks${blanks}x :tag\nYapoks swim.\n`);
    expect(await headingOf("yapoks swim")).toMatch(/^A heading of yapoks/u);
  });

  it("are no lines that only look like it", async () => {
    await upload(
      "n.md",
      "- a zebra finch\n---\nbelow\n\nA tapir finch\n\n---\n\nThe gecko finch\n",
    );
    expect(await headingOf("gecko finch")).toBeUndefined();
    await upload("https://example.org", "* starred numbers of axolotl\n", "text/plain");
    expect(await headingOf("starred axolotl")).toBeUndefined();
  });
});

describe("front matter", () => {
  it("is the heading and metadata, and no text", async () => {
    const { chunks, item } = await upload(
      "f.md",
      '---\ntitle: "Refunds: how"\nauthor: Ada Kudu\ndate: 2026-02-03\ndraft: false\nlayout: post\ntags:\n  - a\n---\n\nWithin thirty days.\n',
    );
    expect(chunks).toEqual(["# Refunds: how\n\nWithin thirty days."]);
    expect(await headingOf("within thirty days")).toBe("Refunds: how");
    expect(item.metadata).toMatchObject({ author: "Ada Kudu", date: "2026-02-03", draft: false });
    expect(item.metadata).not.toHaveProperty("layout");
    const filters = { author: "Ada Kudu", date: { $gte: "2026-02-01T00:00:00Z" } };
    expect(await api.search("thirty days", { filters })).toHaveLength(1);
  });

  it("yields to what the upload says, and to the text's own title", async () => {
    const text = "+++\ntitle = 'Fares'\nauthor = \"Bo\"\n+++\n# Fares\n\nTen euros.\n";
    const { chunks, item } = await upload("g.md", text, "text/markdown", { author: "Cy" });
    expect(chunks).toEqual(["# Fares\n\nTen euros."]);
    expect(item.metadata).toMatchObject({ author: "Cy" });
  });

  it("is not what stands between two rules", async () => {
    const text = "---\n\nA line of prose.\n\n---\n\nAnother one.";
    expect((await upload("r.md", text)).chunks).toEqual([text]);
  });
});
