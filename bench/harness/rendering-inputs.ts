import { randomBytes } from "node:crypto";
import { htmlPage } from "./html-page.ts";

/** A rendering in a browser, of the most that its action takes or of more than that. */
export interface RenderingInput {
  readonly action: string;
  /** The input in words, beside the action. */
  readonly what: string;
  /** Made once, when it is needed. */
  readonly body: () => object;
}

/** A page of random dots, which no format makes smaller; `parts` canvases below each other. */
const noise = (width: number, height: number, parts = 1): string =>
  `<style>* { margin: 0; padding: 0 } canvas { display: block }</style>${`<canvas width=${width} height=${height}></canvas>`.repeat(parts)}<script>
for (const canvas of document.querySelectorAll("canvas")) {
  const area = canvas.getContext("2d");
  const image = area.createImageData(canvas.width, canvas.height);
  const dots = new Uint32Array(image.data.buffer);
  let seed = 1;
  for (let i = 0; i < dots.length; i++) {
    seed ^= seed << 13; seed ^= seed >>> 17; seed ^= seed << 5;
    dots[i] = seed | 0xff000000;
  }
  area.putImageData(image, 0, 0);
}</script>`;
/** A picture of random dots without compression. */
function bitmap(pixels: number): Buffer {
  const width = 1000;
  const height = pixels / width;
  const bytes = Buffer.alloc(54 + pixels * 3, randomBytes(1000));
  bytes.write("BM");
  bytes.writeUInt32LE(bytes.length, 2);
  bytes.writeUInt32LE(54, 10);
  bytes.writeUInt32LE(40, 14);
  bytes.writeUInt32LE(width, 18);
  bytes.writeUInt32LE(height, 22);
  bytes.writeUInt16LE(1, 26);
  bytes.writeUInt16LE(24, 28);
  return bytes;
}
const MI = 1024 * 1024;
const script = "<script>1;</script>";
const page = (bytes: number): string => script + htmlPage("article", bytes, 7);
const links = (count: number): string =>
  script +
  Array.from(
    { length: count },
    (_, i) => `<a href="https://example.com/some/page/of/a/site?number=${i}&more=words">${i}</a>\n`,
  ).join("");
const elements = (count: number): string => script + "<p class=one>Some words</p>\n".repeat(count);
const fullPage = { fullPage: true };

/** For each action the most that it takes, and more than that. */
export const renderingInputs: readonly RenderingInput[] = [
  { action: "content", what: "16 Mi characters", body: () => ({ html: page(15.5 * MI) }) },
  { action: "content", what: "40 MB", body: () => ({ html: page(40_000_000) }) },
  {
    action: "content",
    what: "a script of 4 MB",
    body: () => ({ html: "<p>short", addScriptTag: [{ content: "1;".repeat(2_000_000) }] }),
  },
  { action: "markdown", what: "16 Mi characters", body: () => ({ html: page(15.5 * MI) }) },
  { action: "markdown", what: "40 MB", body: () => ({ html: page(40_000_000) }) },
  { action: "links", what: "100,000 links", body: () => ({ html: links(100_000) }) },
  { action: "links", what: "500,000 links", body: () => ({ html: links(500_000) }) },
  {
    action: "scrape",
    what: "50,000 elements",
    body: () => ({ html: elements(50_000), elements: [{ selector: ".one" }] }),
  },
  {
    action: "scrape",
    what: "200,000 elements",
    body: () => ({ html: elements(200_000), elements: [{ selector: ".one" }] }),
  },
  {
    action: "accessibilityTree",
    what: "20,000 nodes",
    body: () => ({ html: elements(6_600), interestingOnly: false }),
  },
  { action: "accessibilityTree", what: "400,000 nodes", body: () => ({ html: elements(200_000) }) },
  {
    action: "screenshot",
    what: "noise, 2,600²",
    body: () => ({
      html: noise(2600, 2600),
      screenshotOptions: fullPage,
      viewport: { width: 2600, height: 1000 },
    }),
  },
  {
    action: "screenshot",
    what: "noise, 6,300²",
    body: () => ({
      html: noise(6300, 6300),
      screenshotOptions: fullPage,
      viewport: { width: 6300, height: 1000 },
    }),
  },
  {
    action: "pdf",
    what: "90 MB of noise",
    body: () => ({ html: noise(2000, 2000, 7), pdfOptions: { printBackground: true } }),
  },
  {
    action: "pdf",
    what: "a picture of 40 MB",
    body: () => ({
      html: `${script}<img src="data:image/bmp;base64,${bitmap(10_000_000).toString("base64")}">`,
    }),
  },
  {
    action: "snapshot",
    what: "three formats",
    body: () => ({
      html: noise(2000, 2000) + page(7 * MI),
      formats: ["content", "markdown", "screenshot"],
    }),
  },
];
