import { expect, it } from "vitest";
import { templateFiles } from "../../../core/rendering/actions/template-files.ts";

const filesOf = (footerTemplate: string) =>
  templateFiles({ displayHeaderFooter: true, footerTemplate });
const at = "href=https://example.com/a";

// Measured with Chromium 153: each of these ends its printing, or its page.
it.each([
  `<link rel=stylesheet ${at}>`,
  `<link rel=modulepreload ${at}>`,
  `<link rel="icon Prefetch" ${at}>`,
  `<link rel=preload as=style ${at}>`,
  `<link rel=preload as=FONT ${at}>`,
])("refuses %s in a footer", async (link) => {
  await expect(filesOf(link)).rejects.toMatchObject({
    kind: "invalid_request",
    message: expect.stringContaining(
      'pdfOptions.footerTemplate: "https://example.com/a" cannot be loaded',
    ),
  });
});

it.each([
  `<link rel=preload as=image ${at}>`,
  `<link rel=preload ${at}>`,
  `<link rel=preconnect ${at}>`,
  `<link rel=icon ${at}>`,
  "<link rel=preload as=style href=data:text/css,>",
])("takes %s, which Chromium passes over", async (link) => {
  expect(await filesOf(link)).toEqual([]);
});
