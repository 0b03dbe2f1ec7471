import { useQueries } from '@tanstack/react-query';
import { Hourglass, TriangleAlert } from 'lucide-react';
import { Link } from 'wouter';
import { useList } from '../data/cache.ts';
import { waitingQuery } from '../data/handoffs.ts';
import { unreadQuery } from '../data/notices.ts';
import { taskQuery } from '../data/tasks.ts';
import { Text, useText } from '../i18n/Text.tsx';
import { list } from '../i18n/time.ts';
import { taskAddress } from '../parts/addresses.ts';
import { LinkButton } from '../parts/Button.tsx';
import { Ago, clean, Name } from '../parts/words.tsx';

/** What waits for this person, on the home page: requests to decide, and tasks that stopped for them. */
export function Waits({ workspace }: { workspace: string }) {
  return (
    <>
      <Requests workspace={workspace} />
      <Tasks workspace={workspace} />
    </>
  );
}

/** The names in a row, each of them once. */
const names = (texts: string[]) => list([...new Set(texts.map(text => clean(text).trim()))]);

function Requests({ workspace }: { workspace: string }) {
  const say = useText();
  const waiting = useList(waitingQuery(workspace)).items?.filter(handoff => handoff.state === 'pending') ?? [];
  if (waiting.length === 0) return null;
  return (
    <div className="banner">
      <TriangleAlert aria-hidden />
      <p>
        <strong>{say('app.home.waits', { n: waiting.length })}</strong>{' '}
        <Text
          of="app.home.waits.who"
          clients={<bdi>{names(waiting.map(handoff => handoff.connection.name))}</bdi>}
          sessions={<bdi>{names(waiting.map(handoff => handoff.session_title))}</bdi>}
        />
      </p>
      <LinkButton to={`/w/${workspace}/approvals`}>{say('app.home.review')}</LinkButton>
    </div>
  );
}

const shown = 10;

/** Tasks that this person was told of, and that still wait. */
function Tasks({ workspace }: { workspace: string }) {
  const say = useText();
  const told = useList(unreadQuery).items?.filter(
    notice =>
      notice.type === 'task.waiting' && notice.workspace_id === workspace && notice.session_id && notice.task_id,
  );
  const tasks = useQueries({
    queries: (told ?? []).slice(0, shown).map(notice => taskQuery(notice.session_id!, notice.task_id!)),
  });
  const waiting = new Map(tasks.flatMap(({ data }) => (data?.state === 'waiting' ? [[data.id, data] as const] : [])));
  if (waiting.size === 0) return null;
  return (
    <section className="section" aria-labelledby="home-waiting">
      <h2 id="home-waiting">{say('app.home.waiting')}</h2>
      <ul className="card list">
        {[...waiting.values()].map(task => (
          <li key={task.id} className="linked">
            <Hourglass aria-hidden />
            <div className="what">
              <span className="title">
                <Link className="over" href={taskAddress(task.session_id, task.id)}>
                  <Name>{task.goal}</Name>
                </Link>
              </span>
              <span className="meta">
                {task.reason && (
                  <span>
                    <Name>{task.reason}</Name>
                  </span>
                )}
                <span>
                  <Ago at={task.created_at} />
                </span>
              </span>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
