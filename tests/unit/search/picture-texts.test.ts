import { strToU8 } from "fflate";
import { describe, expect, it } from "vitest";
import { runToEnd } from "../../../core/work/background.ts";
import { fileReader } from "../../../core/search/files/mod.ts";
import { packageOf } from "../../fakes/search-documents.ts";

async function textOf(key: string, bytes: Uint8Array): Promise<string> {
  const file = { key, contentType: "", bytes: new Uint8Array(bytes) };
  return (await runToEnd((await fileReader.load())(file))).text;
}

const main = "http://schemas.openxmlformats.org";
const relations = (type: string, target: string): string =>
  `<Relationships xmlns="${main}/package/2006/relationships"><Relationship Id="r1" Type="${main}/officeDocument/2006/relationships/${type}" Target="${target}"/></Relationships>`;

const odf = ["office", "text", "table", "drawing", "svg-compatible"].map(
  (name) => `xmlns:${name.slice(0, 4)}="urn:oasis:names:tc:opendocument:xmlns:${name}:1.0"`,
);
const odtBody = (inner: string): string =>
  `<offi:document-content ${odf.join(" ")} xmlns:xlink="http://www.w3.org/1999/xlink"><offi:body><offi:text><text:p>${inner}</text:p></offi:text></offi:body></offi:document-content>`;
const formula = `<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mrow><mi>pressure</mi><mo>=</mo><mfrac><mi>force</mi><mi>area</mi></mfrac></mrow><annotation encoding="StarMath 5.0">not shown</annotation></semantics></math>`;

describe("what pictures say to readers who do not see them", () => {
  it("is in the text of DOCX, behind the paragraph", async () => {
    const wp = `xmlns:q="${main}/drawingml/2006/wordprocessingDrawing"`;
    const bytes = packageOf({
      "word/document.xml": `<w:document xmlns:w="${main}/wordprocessingml/2006/main" ${wp}><w:body><w:p><w:r><w:t>See</w:t><w:drawing><q:inline><q:docPr id="1" name="Picture 1" title="Harbour" descr="A quokka &#10; on a pier"/></q:inline></w:drawing></w:r></w:p><w:p><w:r><w:drawing><q:docPr id="2" name="Picture 2" descr=""/></w:drawing></w:r></w:p></w:body></w:document>`,
    });
    expect(await textOf("a.docx", bytes)).toBe("See\n\nPicture: Harbour: A quokka on a pier");
  });

  it("is in the text of PPTX", async () => {
    const slide = `<p:sld xmlns:p="${main}/presentationml/2006/main" xmlns:a="${main}/drawingml/2006/main"><p:pic><p:cNvPr id="4" name="Picture 3" descr="A numbat"/></p:pic><p:sp><p:cNvPr id="5" name="Box"/><a:p><a:r><a:t>Words</a:t></a:r></a:p></p:sp></p:sld>`;
    const bytes = packageOf({
      "ppt/presentation.xml": `<p:presentation xmlns:p="${main}/presentationml/2006/main" xmlns:r="${main}/officeDocument/2006/relationships"><p:sldIdLst><p:sldId r:id="r1"/></p:sldIdLst></p:presentation>`,
      "ppt/_rels/presentation.xml.rels": relations("slide", "slides/slide1.xml"),
      "ppt/slides/slide1.xml": slide,
    });
    expect(await textOf("a.pptx", bytes)).toBe("## Slide 1\n\nPicture: A numbat\n\nWords");
  });

  it("is in the text of XLSX", async () => {
    const bytes = packageOf({
      "xl/workbook.xml": `<workbook xmlns:r="${main}/officeDocument/2006/relationships"><sheets><sheet name="S" r:id="r1"/></sheets></workbook>`,
      "xl/_rels/workbook.xml.rels": relations("worksheet", "worksheets/sheet1.xml"),
      "xl/worksheets/sheet1.xml": "<worksheet><sheetData/></worksheet>",
      "xl/worksheets/_rels/sheet1.xml.rels": relations("drawing", "../drawings/drawing1.xml"),
      "xl/drawings/drawing1.xml": `<q:wsDr xmlns:q="${main}/drawingml/2006/spreadsheetDrawing"><q:pic><q:cNvPr id="2" name="Image 1" descr="A tapir"/></q:pic></q:wsDr>`,
    });
    expect(await textOf("a.xlsx", bytes)).toBe("## S\n\nPicture: A tapir");
  });

  it("is in the text of ODT", async () => {
    const inner = `See<draw:frame><draw:image/><svg-:title>Harbour</svg-:title><svg-:desc>A  quokka</svg-:desc></draw:frame> it`;
    const bytes = packageOf({ "content.xml": odtBody(inner) });
    expect(await textOf("a.odt", bytes)).toBe("See it\n\nPicture: Harbour\n\nPicture: A quokka");
  });
});

describe("the signs of a formula", () => {
  it("stay apart in DOCX", async () => {
    const sign = (text: string): string => `<m:r><m:t>${text}</m:t></m:r>`;
    const part = (name: string, text: string): string => `<m:${name}>${sign(text)}</m:${name}>`;
    const fraction = `<m:f>${part("num", "force")}${part("den", "area")}</m:f>`;
    const power = `<m:sSup>${part("e", "width")}${part("sup", "2")}</m:sSup>`;
    const bytes = packageOf({
      "word/document.xml": `<w:document xmlns:w="${main}/wordprocessingml/2006/main" xmlns:m="${main}/officeDocument/2006/math"><w:body><w:p><m:oMath>${sign("pressure")}${sign("=")}${fraction}${sign("+")}${power}</m:oMath></w:p></w:body></w:document>`,
    });
    expect(await textOf("a.docx", bytes)).toBe("pressure = force / area + width ^ 2");
  });

  it("are in the text of ODT: those of a file of its own behind the paragraph", async () => {
    const bytes = packageOf({
      "content.xml": odtBody(`See <draw:object xlink:href="./Object 1"/>`),
      "Object 1/content.xml": formula,
    });
    expect(await textOf("a.odt", bytes)).toBe("See\n\npressure = force area");
  });

  it("are in the text of an ODT that is one file", async () => {
    const bytes = strToU8(odtBody(`See <draw:object>${formula}</draw:object>`));
    expect(await textOf("a.fodt", bytes)).toBe("See\n\npressure = force area");
  });
});

describe("RTF", () => {
  it("has the texts that are properties of a drawing", async () => {
    const shape = String.raw`{\rtf1 Before{\shp{\*\shpinst\shpleft0{\sp{\sn wzName}{\sv Shape 2}}{\sp{\sn wzDescription}{\sv A pier}}{\sp{\sn gtextUNICODE}{\sv Words of a quokka}}}} after\par}`;
    expect(await textOf("a.rtf", strToU8(shape))).toBe(
      "Before after\n\nPicture: A pier\n\nWords of a quokka",
    );
  });
});
