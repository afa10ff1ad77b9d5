import { expect } from "vitest";
import { withBrowser, render } from "./render-client.ts";

const script = (code: string): string => `<body><script>${code}</script></body>`;
const many = (count: number, markup: string): string =>
  script(`document.body.innerHTML = ${JSON.stringify(markup)}.repeat(${count})`);

withBrowser(
  "refuses answers that are too large, by what was found and what there may be",
  async () => {
    const cases = [
      [
        "content",
        { html: script('document.body.dataset.text = "x".repeat(17000000)') },
        /content: .* 17000\d{3} characters, .* 16777216: /u,
      ],
      [
        "scrape",
        { html: many(50_001, "<b>a</b>"), elements: [{ selector: "b" }] },
        /scrape: .* 50001 elements, .* 50000: /u,
      ],
      [
        "accessibilityTree",
        { html: many(20_001, "<i></i>") },
        /accessibilityTree: .* 2\d{4} elements and texts, .* 20000: /u,
      ],
    ] as const;
    for (const [name, body, message] of cases) {
      const answer = await render(name, body);
      expect([answer.status, answer.body.errors[0]?.code]).toEqual([422, 6003]);
      expect(answer.body.errors[0]?.message).toMatch(message);
    }
  },
);

withBrowser("answers long texts and large trees whole", async () => {
  const text = "é😀".repeat(400_000);
  const html = script('document.body.dataset.text = "é😀".repeat(400000)');
  const { body } = await render("content", { html });
  expect(body.errors).toEqual([]);
  expect(String(body.result).includes(`data-text="${text}"`)).toBe(true);
  const tree = await render("accessibilityTree", { html: many(6000, "<button>a</button>") });
  const { accessibilityTree } = tree.body.result as { accessibilityTree: { children: unknown[] } };
  expect(accessibilityTree.children.length).toBe(6000);
});

withBrowser("ends a rendering whose patterns take too long, and says so", async () => {
  // Letters without a period, in which the patterns' automata find ever new states.
  let [seed, address] = [12_345, ""];
  while (address.length < 2000) {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    address += seed < 2 ** 30 ? "a" : "b";
  }
  const pictures = Array.from(
    { length: 400 },
    (_, at) => `<img src="https://a.example/${at}${address}">`,
  );
  const pattern = (end: string): string => `[ab]*a${"[ab]".repeat(235)}${end}`;
  const answer = await render("content", {
    html: `${pictures.join("")}<script>1</script>`,
    gotoOptions: { waitUntil: "load" },
    rejectRequestPattern: ["[!#]", "[;<]", "[=>]", "[{}]", "[AB]", "[CD]", "[EF]", "[GH]"].map(
      pattern,
    ),
  });
  expect([answer.status, answer.body.errors[0]?.message]).toEqual([
    400,
    expect.stringMatching(/^allowRequestPattern\/rejectRequestPattern: .* 1000 ms/u),
  ]);
  const next = await render("content", { html: "<p>a", rejectRequestPattern: ["(?:a|b)c"] });
  expect(next.status).toBe(200);
});
