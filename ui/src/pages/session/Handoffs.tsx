import { Inbox } from 'lucide-react';
import { useState } from 'react';
import { useList } from '../../data/cache.ts';
import { sessionHandoffsQuery } from '../../data/handoffs.ts';
import { seatsQuery } from '../../data/seats.ts';
import type { AgentSession, Handoff } from '../../data/types.ts';
import { useText } from '../../i18n/Text.tsx';
import { AssistantTile, Badge, OutsideBadge } from '../../parts/Badge.tsx';
import { HandoffCard, HandoffOutcome } from '../../parts/HandoffCard.tsx';
import { More } from '../../parts/More.tsx';
import { Empty, LoadedList } from '../../parts/State.tsx';
import { Name } from '../../parts/words.tsx';
import { clean } from '../../i18n/format.ts';
import type { Rights } from '../SessionPage.tsx';
import { seatName } from './seatnames.ts';

/**
 * What outside assistants ask this session to do. Oldest first among those that
 * wait; one that was decided while somebody looks stays where it is, so that
 * nothing moves under a finger.
 */
export function Handoffs({ session, rights }: { session: AgentSession; rights: Rights }) {
  const say = useText();
  const pending = useList(sessionHandoffsQuery(session.id, 'pending'));
  const all = useList(sessionHandoffsQuery(session.id));
  const seats = useList(seatsQuery(session.id)).items;
  const [seen] = useState(() => new Set<string>());
  const metaOf = (handoff: Handoff) => {
    const seat = seats?.find(given => given.connection_id === handoff.connection.id)?.seat;
    return seat && <span>{seatName(seat)}</span>;
  };
  return (
    <LoadedList of={pending} rows={4}>
      {items => {
        for (const handoff of items) if (handoff.state === 'pending') seen.add(handoff.id);
        const shown = items.filter(handoff => seen.has(handoff.id)).toSorted(oldestFirst);
        const waiting = shown.filter(handoff => handoff.state === 'pending').length;
        const earlier = all.items?.filter(handoff => handoff.state !== 'pending' && !seen.has(handoff.id)) ?? [];
        return (
          <>
            <section className="section" aria-labelledby="requests">
              <div className="row">
                <h2 id="requests">{say('app.session.handoffs.outside')}</h2>
                {waiting > 0 && <Badge tone="warn">{say('app.session.handoffs.waiting', { n: waiting })}</Badge>}
              </div>
              {shown.length === 0 ? (
                <div className="card">
                  <Empty icon={Inbox} title={say('app.session.handoffs.none')}>
                    {say('app.session.handoffs.none.text')}
                  </Empty>
                </div>
              ) : (
                shown.map(handoff => (
                  <HandoffCard key={handoff.id} handoff={handoff} mayDecide={rights.edit} meta={metaOf(handoff)} />
                ))
              )}
              <More of={pending} />
            </section>
            {earlier.length > 0 && (
              <section className="section" aria-labelledby="earlier">
                <h2 id="earlier">{say('app.session.handoffs.earlier')}</h2>
                <ul className="card list earlier">
                  {earlier.map(handoff => (
                    <Earlier key={handoff.id} handoff={handoff} />
                  ))}
                </ul>
                <More of={all} />
              </section>
            )}
          </>
        );
      }}
    </LoadedList>
  );
}

const oldestFirst = (a: Handoff, b: Handoff) => a.created_at.localeCompare(b.created_at) || a.id.localeCompare(b.id);

function Earlier({ handoff }: { handoff: Handoff }) {
  return (
    <li>
      <AssistantTile />
      <div className="what">
        <span className="title act" dir="auto">
          {clean(handoff.goal)}
        </span>
        <span className="meta">
          <span className="author">
            <Name>{handoff.connection.name}</Name>
            <OutsideBadge />
          </span>
        </span>
        <HandoffOutcome handoff={handoff} />
      </div>
    </li>
  );
}
