import { OutsideBadge } from './Badge.tsx';
import { initials, Name } from './words.tsx';
import type { Writer } from '../data/types.ts';

/** The round tile of a person. */
export const PersonTile = ({ name }: { name: string }) => (
  <span className="tile" aria-hidden>
    {initials(name)}
  </span>
);

/** The server puts what kind it is before the name of an outside assistant; here the label says so. */
const nameOf = ({ kind, name }: Writer) =>
  kind === 'outside_assistant' ? name.replace(/^outside assistant /, '') : name;

/** Who wrote something; an outside assistant never without its label. */
export const Author = ({ by }: { by: Writer }) => (
  <span className="author">
    <Name>{nameOf(by)}</Name>
    {by.kind === 'outside_assistant' && <OutsideBadge />}
  </span>
);
