import { diffArrays } from 'diff';

/** A part of the base that one side replaced: lines from..to give way to others. */
interface Edit {
  from: number;
  to: number;
  lines: string[];
}

/** Lines with their ends, so that nothing about the last one is lost. */
const linesOf = (text: string) => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

function editsOf(base: string[], changed: string[]): Edit[] {
  const edits: Edit[] = [];
  let at = 0;
  let open: Edit | undefined;
  for (const part of diffArrays(base, changed)) {
    if (!part.added && !part.removed) {
      at += part.value.length;
      open = undefined;
      continue;
    }
    if (!open) edits.push((open = { from: at, to: at, lines: [] }));
    if (part.added) open.lines.push(...part.value);
    else open.to = at += part.value.length;
  }
  return edits;
}

const same = (a: string[], b: string[]) => a.length === b.length && a.every((line, i) => line === b[i]);

/** The whole part from..to after the side's edits in it. */
function apply(base: string[], edits: Edit[], from: number, to: number): string[] {
  const out: string[] = [];
  let at = from;
  for (const edit of edits) {
    out.push(...base.slice(at, edit.from), ...edit.lines);
    at = edit.to;
  }
  return [...out, ...base.slice(at, to)];
}

export interface Merged {
  text: string;
  /** How often both sides changed the same lines; their lines stand first, mine follow. */
  overlaps: number;
}

/** Puts two changes of one text together, line by line. Nothing that either side wrote is lost. */
export function merge(base: string, mine: string, theirs: string): Merged {
  const lines = linesOf(base);
  const ours = editsOf(lines, linesOf(mine));
  const other = editsOf(lines, linesOf(theirs));
  const out: string[] = [];
  let at = 0;
  let overlaps = 0;
  while (ours.length > 0 || other.length > 0) {
    const from = Math.min(ours[0]?.from ?? Infinity, other[0]?.from ?? Infinity);
    let to = from;
    const a: Edit[] = [];
    const b: Edit[] = [];
    // A group grows as long as an edit of either side begins in it, or at its end.
    for (let grew = true; grew;) {
      grew = false;
      for (const [edits, group] of [
        [ours, a],
        [other, b],
      ] as const) {
        while (edits[0] && edits[0].from <= to) {
          to = Math.max(to, edits[0].to);
          group.push(edits.shift()!);
          grew = true;
        }
      }
    }
    out.push(...lines.slice(at, from));
    at = to;
    const byMe = apply(lines, a, from, to);
    const byThem = apply(lines, b, from, to);
    if (b.length === 0) out.push(...byMe);
    else if (a.length === 0 || same(byMe, byThem)) out.push(...byThem);
    else {
      overlaps++;
      const last = byThem.at(-1);
      if (last && !last.endsWith('\n') && byMe.length > 0) byThem[byThem.length - 1] = `${last}\n`;
      out.push(...byThem, ...byMe);
    }
  }
  return { text: [...out, ...lines.slice(at)].join(''), overlaps };
}
