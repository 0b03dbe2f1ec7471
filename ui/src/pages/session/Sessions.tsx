import { Laptop, Lock, Plus, Workflow } from 'lucide-react';
import { Link, useSearchParams } from 'wouter';
import { useList } from '../../data/cache.ts';
import { sessionsQuery } from '../../data/sessions.ts';
import type { AgentSession, Project } from '../../data/types.ts';
import { useText } from '../../i18n/Text.tsx';
import { sessionAddress } from '../../parts/addresses.ts';
import { Badge } from '../../parts/Badge.tsx';
import { LinkButton } from '../../parts/Button.tsx';
import { More } from '../../parts/More.tsx';
import { Empty, LoadedList } from '../../parts/State.tsx';
import { Ago, Name } from '../../parts/words.tsx';
import { SessionState, typeIcons, typeNames } from './looks.tsx';

/** The sessions of a project; the filter of the page says whether those of the archive. */
export function Sessions({ project, mayEdit }: { project: Project; mayEdit: boolean }) {
  const say = useText();
  const [search] = useSearchParams();
  const archived = search.get('archived') === 'true';
  const list = useList(sessionsQuery(project.id, archived));
  const make = mayEdit && (
    <LinkButton to={`/p/${project.id}/sessions/new`}>
      <Plus aria-hidden />
      {say('app.session.new')}
    </LinkButton>
  );
  return (
    <section className="section" aria-labelledby="sessions">
      <div className="row">
        <h2 id="sessions">{say('app.sessions')}</h2>
        {(list.items?.length ?? 0) > 0 && <div className="end">{make}</div>}
      </div>
      <LoadedList of={list} rows={3}>
        {items =>
          items.length === 0 ? (
            <div className="card">
              <Empty
                icon={Workflow}
                title={say(archived ? 'app.sessions.none_archived' : 'app.sessions.none')}
                action={!archived && make}
              >
                {!archived && say('app.sessions.none.text')}
              </Empty>
            </div>
          ) : (
            <>
              <ul className="card list">
                {items.map(session => (
                  <Row key={session.id} session={session} />
                ))}
              </ul>
              <More of={list} />
            </>
          )
        }
      </LoadedList>
    </section>
  );
}

function Row({ session }: { session: AgentSession }) {
  const say = useText();
  const Icon = typeIcons[session.type];
  return (
    <li className="linked">
      <Icon aria-label={say(typeNames[session.type])} />
      <div className="what">
        <span className="title">
          <Link className="over" href={sessionAddress(session.id)}>
            <Name>{session.title}</Name>
          </Link>
          {session.restricted && <Badge icon={Lock}>{say('app.note.restricted')}</Badge>}
          {session.local_only && <Badge icon={Laptop}>{say('app.note.local_only')}</Badge>}
        </span>
        <span className="meta">
          <span>{say(typeNames[session.type])}</span>
          <span>{say('app.session.agents.count', { n: session.agents.length })}</span>
        </span>
      </div>
      <span className="acts small muted">
        <SessionState state={session.state} />
        <span className="when">
          <Ago at={session.updated_at} />
        </span>
      </span>
    </li>
  );
}
