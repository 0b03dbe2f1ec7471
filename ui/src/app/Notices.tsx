import { useQueries } from '@tanstack/react-query';
import { BellOff, CircleCheck, CircleSlash, CircleX, Hourglass, type LucideIcon } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { useList } from '../data/cache.ts';
import { connectionQuery } from '../data/connections.ts';
import { markRead, noticesQuery, unreadQuery } from '../data/notices.ts';
import { sessionQuery } from '../data/sessions.ts';
import type { Notice } from '../data/types.ts';
import { Text, useText } from '../i18n/Text.tsx';
import { asApiError } from '../data/api.ts';
import { sessionAddress, taskAddress } from '../parts/addresses.ts';
import { AssistantTile, OutsideBadge } from '../parts/Badge.tsx';
import { Button } from '../parts/Button.tsx';
import { More } from '../parts/More.tsx';
import { Empty, LoadedList } from '../parts/State.tsx';
import { failed } from '../parts/toast.ts';
import { Ago, Name } from '../parts/words.tsx';

/** Notices of one kind from one place, which are said in one row. */
interface Told {
  newest: Notice;
  all: Notice[];
}

/** What an assistant asked for again and again is one row, as long as nothing else came between. */
export function gather(notices: Notice[]): Told[] {
  const rows: Told[] = [];
  for (const notice of notices) {
    const last = rows.at(-1);
    if (
      last &&
      notice.type === 'handoff.proposed' &&
      last.newest.type === notice.type &&
      last.newest.session_id === notice.session_id &&
      last.newest.connection_id === notice.connection_id &&
      (last.newest.read_at === null) === (notice.read_at === null)
    )
      last.all.push(notice);
    else rows.push({ newest: notice, all: [notice] });
  }
  return rows;
}

const read = (ids?: string[]) => void markRead(ids).catch(thrown => failed(asApiError(thrown).message));

/** The content of the bell's panel. */
export function Notices({ close }: { close: () => void }) {
  const say = useText();
  const [onlyUnread, setOnlyUnread] = useState(false);
  const all = useList(noticesQuery);
  const unread = useList(unreadQuery);
  const list = onlyUnread ? unread : all;
  const titles = useTitles(list.items ?? []);
  const clients = useClients(list.items ?? []);
  return (
    <>
      <div className="row noticehead">
        <h2>{say('app.notices')}</h2>
        <div className="seg push" role="group" aria-label={say('app.notices.which')}>
          {[false, true].map(choice => (
            <button
              key={String(choice)}
              type="button"
              aria-pressed={onlyUnread === choice}
              data-selected={onlyUnread === choice || undefined}
              onClick={() => setOnlyUnread(choice)}
            >
              {say(choice ? 'app.notices.new' : 'app.notices.all')}
            </button>
          ))}
        </div>
      </div>
      <LoadedList of={list}>
        {items =>
          items.length === 0 ? (
            <Empty icon={BellOff} title={say('app.notices.none')}>
              {say('app.notices.none.text')}
            </Empty>
          ) : (
            <>
              <ul className="list">
                {gather(items).map(({ newest, all: same }) => (
                  <li key={newest.id} className="linked">
                    <Sign notice={newest} />
                    <div className="what">
                      <span className="title">
                        <Link
                          className="over"
                          href={addressOf(newest)}
                          onClick={() => {
                            if (newest.read_at === null) read(same.map(notice => notice.id));
                            close();
                          }}
                        >
                          <Words
                            notice={newest}
                            client={newest.connection ?? clients.get(newest.connection_id ?? '')}
                            n={same.length}
                          />
                        </Link>
                        {isOutside(newest) && <OutsideBadge />}
                      </span>
                      <span className="meta">
                        {titles.has(newest.session_id ?? '') && (
                          <span>
                            <Name>{titles.get(newest.session_id!)!}</Name>
                          </span>
                        )}
                        <span>
                          <Ago at={newest.created_at} />
                        </span>
                      </span>
                    </div>
                    {newest.read_at === null && (
                      <span className="unread" role="img" aria-label={say('app.notices.one_unread')} />
                    )}
                  </li>
                ))}
              </ul>
              <More of={list} />
            </>
          )
        }
      </LoadedList>
      {(unread.items?.length ?? 0) > 0 && (
        <div className="actions noticefoot">
          <Button onPress={() => read()}>{say('app.notices.read')}</Button>
        </div>
      )}
    </>
  );
}

/** The titles of the sessions, as far as this person may see them. */
function useTitles(notices: Notice[]): Map<string, string> {
  const ids = [...new Set(notices.map(notice => notice.session_id).filter(id => id !== undefined))];
  const found = useQueries({ queries: ids.map(id => ({ ...sessionQuery(id), retry: false })) });
  return new Map(found.flatMap(({ data }) => (data ? [[data.id, data.title] as const] : [])));
}

/** The names of connections that a notice does not say. */
function useClients(notices: Notice[]): Map<string, string> {
  const unnamed = notices.filter(notice => notice.connection === undefined).map(notice => notice.connection_id);
  const ids = [...new Set(unnamed.filter(id => id !== undefined))];
  const found = useQueries({
    queries: ids.map(id => ({ ...connectionQuery(id), retry: false, refetchInterval: false as const })),
  });
  return new Map(found.flatMap(({ data }) => (data ? [[data.id, data.name] as const] : [])));
}

const isOutside = ({ type }: Notice) => type === 'handoff.proposed' || type.startsWith('connection.');

function addressOf({ workspace_id: workspace, connection_id: connection, session_id: session, task_id: task }: Notice) {
  if (!session) return connection ? `/w/${workspace}/assistants/${connection}` : `/w/${workspace}`;
  return task ? taskAddress(session, task) : sessionAddress(session, 'handoffs');
}

const ends: Partial<Record<NonNullable<Notice['state']>, LucideIcon>> = {
  succeeded: CircleCheck,
  failed: CircleX,
  stopped: CircleSlash,
};

function Sign({ notice }: { notice: Notice }) {
  if (isOutside(notice)) return <AssistantTile />;
  const Icon = (notice.type === 'task.ended' && notice.state && ends[notice.state]) || Hourglass;
  return (
    <span className="tile" aria-hidden>
      <Icon />
    </span>
  );
}

function Words({ notice, client, n }: { notice: Notice; client: string | undefined; n: number }) {
  const say = useText();
  const name = <Name>{client ?? say('app.outside')}</Name>;
  switch (notice.type) {
    case 'handoff.proposed':
      return <Text of="app.notice.handoff" client={name} n={n} />;
    case 'connection.created':
      return <Text of="app.notice.connected" client={name} />;
    case 'connection.token_reused':
      return <Text of="app.notice.token_reused" client={name} />;
    case 'task.waiting':
      return say('app.notice.waiting');
    case 'task.ended':
      return notice.state === 'failed'
        ? say('app.notice.failed')
        : notice.state === 'stopped'
          ? say('app.notice.stopped')
          : say('app.notice.succeeded');
    default:
      return <Name>{notice.text}</Name>;
  }
}
