import { boundedJson, isObject, type Json, memberCount } from "../../http/json.ts";

/** A place in JSON, such as `messages.content.file_id`: lists are gone through, and `*` is any member. */
export type JsonPlace<T> = readonly [place: string, about: T];

/** Receives each value at a place, and the object that holds it. */
export type OnFound<T> = (about: T, value: unknown, owner: Json) => void;

interface PlaceNode<T> {
  readonly next: Map<string, PlaceNode<T>>;
  readonly about: T[];
}

/**
 * Reads the values at places of a JSON value, all of them in one pass. Some providers take a name in any letter case, and
 * those with protocol buffers with underscores or without, so neither matters.
 */
export function jsonPlaces<T>(
  table: readonly JsonPlace<T>[],
): (root: unknown, onFound: OnFound<T>) => void {
  const root: PlaceNode<T> = { next: new Map(), about: [] };
  for (const [place, about] of table) {
    let node = root;
    for (const name of place.split(".").map(plainMember)) {
      const next = node.next.get(name) ?? { next: new Map(), about: [] };
      node.next.set(name, next);
      node = next;
    }
    node.about.push(about);
  }
  return (value, onFound) => visit(value, root, onFound);
}

function visit<T>(value: unknown, node: PlaceNode<T>, onFound: OnFound<T>): void {
  if (Array.isArray(value)) {
    for (const one of value) if (typeof one === "object") visit(one, node, onFound);
    return;
  }
  if (!isObject(value)) return;
  for (const [name, member] of Object.entries(value)) {
    // A name that a table has, too, is still any member.
    const own = node.next.get(plainMember(name));
    const any = node.next.get("*");
    for (const next of [own, any]) if (next !== undefined) step(member, next, value, onFound);
  }
}

function step<T>(member: unknown, next: PlaceNode<T>, owner: Json, onFound: OnFound<T>): void {
  for (const about of next.about) {
    for (const one of Array.isArray(member) ? member : [member]) onFound(about, one, owner);
  }
  if (next.next.size > 0 && typeof member === "object") visit(member, next, onFound);
}

/**
 * Returns a member's name without letter case and underscores. Go's servers take "ſ" and "K", the sign of kelvins, for
 * letters, too.
 */
function plainMember(name: string): string {
  return name.toUpperCase().toLowerCase().replaceAll("_", "");
}

/**
 * Parses a JSON text that all parsers read alike; undefined for invalid JSON, too many values, or a member named twice:
 * parsers differ in which of the two they take.
 */
export function unambiguousJson(text: string): unknown {
  const value = boundedJson(text);
  return value === undefined || countMembers(value) !== memberCount(text) ? undefined : value;
}

function countMembers(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = Array.isArray(value) ? 0 : Object.keys(value).length;
  for (const one of Object.values(value)) count += countMembers(one);
  return count;
}
