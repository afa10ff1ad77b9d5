import { expect } from "vitest";
import { render, withBrowser } from "./render-client.ts";

/** Pictures of noise, which no PDF makes smaller: each has 10 MB. */
const noise = (count: number): string => `<body><script>
  for (let k = 1; k <= ${count}; k++) {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 1850;
    const area = canvas.getContext("2d");
    const image = area.createImageData(1850, 1850);
    const pixels = new Uint32Array(image.data.buffer);
    let s = k;
    for (let i = 0; i < pixels.length; i++) {
      s ^= s << 13;
      s ^= s >>> 17;
      s ^= s << 5;
      pixels[i] = s | 0xff000000;
    }
    area.putImageData(image, 0, 0);
    canvas.style.width = "100%";
    document.body.append(canvas);
  }
</script>`;

withBrowser("prints a PDF that is larger than a message of a browser", async () => {
  const { status, bytes } = await render("pdf", { html: noise(4) });
  const text = new TextDecoder("latin1");
  expect([status, text.decode(bytes.subarray(0, 5))]).toEqual([200, "%PDF-"]);
  expect(bytes.length).toBeGreaterThan(30_000_000);
  expect(text.decode(bytes.subarray(-16))).toContain("%%EOF");
});
