import { OutsideBadge } from './Badge.tsx';
import { initials, Name } from './words.tsx';
import type { Writer } from '../data/types.ts';

/** The round tile of a person. */
export const PersonTile = ({ name }: { name: string }) => (
  <span className="tile" aria-hidden>
    {initials(name)}
  </span>
);

/** Who wrote something; an outside assistant never without its label. */
export const Author = ({ by }: { by: Writer }) => (
  <span className="author">
    <Name>{by.name}</Name>
    {by.kind === 'outside_assistant' && <OutsideBadge />}
  </span>
);
