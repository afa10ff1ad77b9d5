import { describe, expect, it } from "vitest";
import { runThrough } from "../../../core/work/background.ts";
import { textBudget } from "../../../core/files/text-budget.ts";
import { xlsxText } from "../../../core/search/files/xlsx.ts";
import { refused } from "../../../core/search/read/refused.ts";
import { packageOf } from "../../fakes/search-documents.ts";

const formats = [
  "General",
  "yyyy\\-mm\\-dd",
  "d/m/yy h:mm",
  "[$-F400]h:mm:ss AM/PM",
  "[h]:mm",
  '"paid in days: "0.00',
  "[Red]#,##0;[Blue]-#,##0",
  "mmm",
  "0.0%;[Red]-0.0%",
  'General" % of all"',
];
const styles = `<styleSheet><numFmts>${formats
  .map(
    (code, n) => `<numFmt numFmtId="${n + 164}" formatCode="${code.replaceAll('"', "&quot;")}"/>`,
  )
  .join("")}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>${formats
  .map((_, n) => `<xf numFmtId="${n + 164}"/>`)
  .join("")}<xf numFmtId="14"/><xf numFmtId="2"/><xf numFmtId="9"/></cellXfs></styleSheet>`;

/** The cells of one row, each with a style. */
function cells(
  row: readonly (readonly [style: number, value: string])[],
  is1904 = false,
): string[] {
  const { text } = runThrough(
    xlsxText(
      packageOf({
        "xl/workbook.xml": `<workbook><workbookPr date1904="${is1904 ? 1 : 0}"/><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>`,
        "xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>`,
        "xl/styles.xml": styles,
        "xl/worksheets/sheet1.xml": `<worksheet><sheetData><row>${row.map(([s, v]) => `<c s="${s}"><v>${v}</v></c>`).join("")}</row></sheetData></worksheet>`,
      }),
      textBudget(refused),
    ),
  );
  const [, , first = ""] = text.split("\n");
  return first
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}

describe("dates of an XLSX workbook", () => {
  it("are ISO 8601 where the style of their cell says so, and numbers elsewhere", () => {
    expect(
      cells([
        [0, "45000"],
        [1, "45000"],
        [2, "45000.75"],
        [3, "0.5"],
        [4, "1.5"],
        [5, "45000"],
        [6, "45000"],
        [7, "45000"],
        [10, "45000"],
        [11, "45000"],
      ]),
    ).toEqual([
      "45000",
      "2023-03-15",
      "2023-03-15 18:00:00",
      "12:00:00",
      "36:00:00",
      "45000",
      "45000",
      "2023-03-15",
      "2023-03-15",
      "45000",
    ]);
  });

  it("know the calendars from 1900 and from 1904", () => {
    expect(
      cells([
        [1, "1"],
        [1, "59"],
        [1, "61"],
        [1, "2958465"],
      ]),
    ).toEqual(["1900-01-01", "1900-02-28", "1900-03-01", "9999-12-31"]);
    expect(cells([[1, "0"]], true)).toEqual(["1904-01-01"]);
  });

  it("are left as they are where they can be no dates", () => {
    expect(
      cells([
        [1, "-1"],
        [1, "2958466"],
        [1, "soon"],
      ]),
    ).toEqual(["-1", "2958466", "soon"]);
  });
});

it("shares of an XLSX workbook are in percent where the style of their cell says so", () => {
  expect(
    cells([
      [8, "0.125"],
      [8, "-0.07"],
      [12, "1.1"],
      [9, "0.5"],
      [0, "0.5"],
      [8, "some"],
    ]),
  ).toEqual(["12.5%", "-7%", "110%", "0.5", "0.5", "some"]);
});
