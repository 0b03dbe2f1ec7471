import { useEffect, useRef, useState, type ReactNode } from 'react';

/** Which row of how many this is, for a list of which only a part is in the page. */
export interface Place {
  'aria-setsize'?: number;
  'aria-posinset'?: number;
}

interface Props<T> {
  items: T[];
  /** Draws an item as an li that has the place. */
  children: (item: T, place: Place) => ReactNode;
}

const few = 200; // rows that a page holds with ease
const spare = 30; // rows kept above and below the screen
const guess = 45; // pixels of a row, until one was measured

/**
 * The rows of a list. Of a long one only those near the screen are in the page,
 * and the rest is room: pushes and scrolling cost the same for 200 and for 10,000.
 */
export function Rows<T>({ items, children }: Props<T>) {
  const list = useRef<HTMLUListElement>(null);
  const [from, to, height] = useWindow(list, items.length);
  const long = items.length > few;
  return (
    <ul className="card list" ref={list}>
      {long && from > 0 && <Room height={from * height} />}
      {long
        ? items
            .slice(from, to)
            .map((item, i) => children(item, { 'aria-setsize': items.length, 'aria-posinset': from + i + 1 }))
        : items.map(item => children(item, {}))}
      {long && to < items.length && <Room height={(items.length - to) * height} />}
    </ul>
  );
}

const Room = ({ height }: { height: number }) => <li className="room" role="presentation" style={{ height }} />;

/** The rows near the screen, from and up to, and how high one is. */
function useWindow(list: React.RefObject<HTMLUListElement | null>, count: number): [number, number, number] {
  const [shown, show] = useState<[number, number, number]>([0, few, guess]);
  useEffect(() => {
    if (count <= few) return;
    let asked = 0;
    const look = () => {
      asked = 0;
      const rows = [...list.current!.children].filter(row => !row.classList.contains('room'));
      const first = rows[0]?.getBoundingClientRect();
      const last = rows.at(-1)?.getBoundingClientRect();
      if (!first || !last) return;
      const height = (last.bottom - first.top) / rows.length || guess;
      const above = Math.floor(-list.current!.getBoundingClientRect().top / height);
      // In steps of the spare rows, so that most scrolling changes nothing.
      const from = Math.min(Math.max(0, Math.floor(above / spare - 1) * spare), Math.max(0, count - spare));
      const to = Math.min(count, from + Math.ceil(innerHeight / height / spare + 3) * spare);
      show(was => (was[0] === from && was[1] === to ? was : [from, to, height]));
    };
    const ask = () => {
      asked ||= requestAnimationFrame(look);
    };
    ask();
    addEventListener('scroll', ask, { passive: true });
    addEventListener('resize', ask);
    return () => {
      cancelAnimationFrame(asked);
      removeEventListener('scroll', ask);
      removeEventListener('resize', ask);
    };
  }, [list, count]);
  return shown;
}
