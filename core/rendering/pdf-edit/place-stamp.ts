import type { PDFPage } from "@cantoo/pdf-lib";
import type { StampPlace } from "./edit-schema.ts";

/** A box in points. */
interface Size {
  readonly width: number;
  readonly height: number;
}

/** The place of a stamp as the page's own coordinates have it. */
export interface PlacedStamp {
  readonly x: number;
  readonly y: number;
  /** Degrees, counter-clockwise. */
  readonly angle: number;
}

/** The size of a page as readers show it. */
export function shownSize(page: PDFPage): Size {
  const { width, height } = page.getCropBox();
  return turnOf(page) % 180 === 0 ? { width, height } : { width: height, height: width };
}

/** Returns the place of the lower left corner of a stamp whose middle is at a place of the shown page. */
export function placeStamp(
  page: PDFPage,
  size: Size,
  { position, margin, rotate }: { position: StampPlace; margin: number; rotate: number },
): PlacedStamp {
  const shown = shownSize(page);
  const isAt = (side: string): boolean => position.split("-").includes(side);
  const along = (low: boolean, high: boolean, length: number, own: number): number => {
    if (low) return margin + own / 2;
    return high ? length - margin - own / 2 : length / 2;
  };
  const u = along(isAt("left"), isAt("right"), shown.width, size.width);
  const v = along(isAt("bottom"), isAt("top"), shown.height, size.height);
  const middle = onPage(page, u, v);
  const angle = rotate + turnOf(page);
  const turned = (angle * Math.PI) / 180;
  const [cos, sin] = [Math.cos(turned), Math.sin(turned)];
  return {
    x: middle.x - (size.width * cos - size.height * sin) / 2,
    y: middle.y - (size.width * sin + size.height * cos) / 2,
    angle,
  };
}

/** The clockwise turn with which a page is shown: 0, 90, 180 or 270. */
function turnOf(page: PDFPage): number {
  const { angle } = page.getRotation();
  return (((Math.round(angle / 90) * 90) % 360) + 360) % 360;
}

/** A point of the shown page, in the page's own coordinates. */
function onPage(page: PDFPage, u: number, v: number): { readonly x: number; readonly y: number } {
  const { x, y, width, height } = page.getCropBox();
  switch (turnOf(page)) {
    case 90:
      return { x: x + width - v, y: y + u };
    case 180:
      return { x: x + width - u, y: y + height - v };
    case 270:
      return { x: x + v, y: y + height - u };
    default:
      return { x: x + u, y: y + v };
  }
}
