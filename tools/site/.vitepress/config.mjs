import { readFileSync } from "node:fs";

/** Written by scripts/site.ts from scripts/site/sidebar.ts. */
const sidebar = JSON.parse(readFileSync(new URL("sidebar.json", import.meta.url), "utf8"));

/** How GitHub and npm name the anchor of a heading, so that one link works everywhere. */
function slugify(title) {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

export default {
  title: "causey",
  description: "One platform API for any JavaScript runtime",
  lang: "en",
  srcDir: "pages",
  outDir: "dist",
  cacheDir: ".vitepress/cache",
  markdown: {
    anchor: { slugify },
    // The default themes' comments are too faint.
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
  },
  themeConfig: {
    sidebar,
    nav: [
      { text: "Start", link: "/start" },
      { text: "Gateway", link: "/gateway" },
      { text: "Rendering", link: "/rendering" },
      { text: "Search", link: "/search" },
      { text: "Webhooks", link: "/webhooks" },
      { text: "Configuration", link: "/configuration" },
    ],
    outline: [2, 3],
    // The index is a file of the site: no service is asked.
    search: { provider: "local" },
    socialLinks: [{ icon: "github", link: "https://github.com/causey/causey" }],
    footer: { message: "MIT licence" },
  },
};
