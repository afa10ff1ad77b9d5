import type { Context, OpenMedia } from "./context.ts";
import { isVoid, type Attributes } from "./html-events.ts";
import { absolute, imageAddress, linkAddress } from "./urls.ts";

/** Begins a `video` or `audio`. */
export function openMedia(context: Context, attributes: Attributes): void {
  const address = playable(attributes["src"], context.base);
  context.media = { label: labelOf(attributes), address, depth: 0 };
}

/** Opens an element in a `video` or `audio`. */
export function openInMedia(
  { base }: Context,
  media: OpenMedia,
  name: string,
  attributes: Attributes,
): void {
  if (name === "source") media.address ??= playable(attributes["src"], base);
  if (!isVoid(name)) media.depth += 1;
}

/** Closes an element in a `video` or `audio`, or that itself: it is written as a link. */
export function closeInMedia(context: Context, media: OpenMedia): void {
  if (media.depth > 0) return void (media.depth -= 1);
  context.media = null;
  if (media.address !== null) writeLink(context, media.address, media.label);
}

/** Writes a frame as a link: its content is not in the document. */
export function frame(context: Context, attributes: Attributes): void {
  // The content between its tags is for browsers without frames.
  context.skipped = 1;
  const { width, height } = attributes;
  // An invisible picture counts visitors.
  if (["0", "1"].includes(width ?? "") || ["0", "1"].includes(height ?? "")) return;
  const address = playable(
    attributes["src"] ?? attributes["data-src"] ?? attributes["data-lazy-src"],
    context.base,
  );
  if (address !== null) writeLink(context, address, labelOf(attributes));
}

function labelOf(attributes: Attributes): string {
  const label = attributes["title"] ?? attributes["aria-label"] ?? "";
  return label.replaceAll(/\s+/gu, " ").trim();
}

function playable(source: string | undefined, base: string | null): string | null {
  const given = (source ?? "").trim();
  if (given === "") return null;
  const src = absolute(given, base);
  // Without a base it stays relative, as links do.
  return /^(?:https?:|(?![a-z][a-z\d+.-]*:))/iu.test(src) ? linkAddress(src, null) : null;
}

/** Without a label the link has the name of the file, or of the host. */
function writeLink({ inline }: Context, address: string, label: string): void {
  const url = URL.parse(address);
  const file = /[^/]+\.\w{2,5}$/u.exec(url?.pathname ?? address)?.[0];
  inline.open("link", `](${address})`);
  inline.text(label || (file ?? url?.hostname ?? address));
  inline.close("link");
}

/** Remembers the pictures of a `picture`, of which its `img` may have none. */
export function pictureSource(context: Context, attributes: Attributes): void {
  const { srcset, "data-srcset": lazy } = attributes;
  const media: Attributes = { srcset: lazy ?? srcset ?? "" };
  context.picture ??= imageAddress(media, context.base);
}

const PICTURE_FILE = /\.(?:avif|gif|jpe?g|png|svg|webp)(?:$|[?#])/iu;

/**
 * Returns the address of a picture in `noscript` that stands for one that scripts load; null for one that is there already,
 * and for those that count visitors, which have no size, no text and no file's name.
 */
export function fallbackPicture(context: Context, attributes: Attributes): string | null {
  const { alt = "", class: classes = "", width = "0" } = attributes;
  const address = imageAddress(attributes, context.base);
  if (address === null || context.inline.endsInPicture) return null;
  const isPicture = alt !== "" || classes !== "" || Number.parseInt(width, 10) > 1;
  if (!isPicture && !PICTURE_FILE.test(address)) return null;
  return context.lastPicture === address ? null : address;
}
