import { CircleCheck, CirclePause, CircleX, Plug, type LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Connection } from '../data/types.ts';
import { useText } from '../i18n/Text.tsx';

export type Tone = 'plain' | 'info' | 'ok' | 'warn' | 'bad' | 'out';

/** A state in a word. One with a tone needs an icon too: colour alone says nothing. */
export const Badge = ({
  tone = 'plain',
  icon: Icon,
  children,
}: {
  tone?: Tone;
  icon?: LucideIcon;
  children: ReactNode;
}) => (
  <span className={`badge ${tone}`}>
    {Icon && <Icon aria-hidden />}
    {children}
  </span>
);

/** How many wait, beside the name of a place. */
export function Count({ n }: { n: number }) {
  const say = useText();
  return (
    <span className="badge info count">
      <span aria-hidden>{n > 99 ? '99+' : n}</span>
      <span className="sr">{say('app.waiting', { n })}</span>
    </span>
  );
}

/** Stands by the name of every outside assistant, and of nothing else. */
export function OutsideBadge() {
  const say = useText();
  return (
    <Badge tone="out" icon={Plug}>
      {say('app.outside')}
    </Badge>
  );
}

const statuses = {
  active: ['ok', CircleCheck],
  paused: ['warn', CirclePause],
  revoked: ['bad', CircleX],
} as const satisfies Record<Connection['status'], [Tone, LucideIcon]>;

export function StatusBadge({ status }: { status: Connection['status'] }) {
  const say = useText();
  const [tone, icon] = statuses[status];
  return (
    <Badge tone={tone} icon={icon}>
      {say(`status.${status}`)}
    </Badge>
  );
}

/** The square tile of an outside assistant. */
export const AssistantTile = () => (
  <span className="tile out" aria-hidden>
    <Plug />
  </span>
);
