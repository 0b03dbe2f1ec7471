import { Bot, CircleCheck, CircleDashed, Plus } from 'lucide-react';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { Link } from 'wouter';
import { useList } from '../../data/cache.ts';
import { rehearsal } from '../../data/providers.ts';
import { taskQuery, tasksQuery } from '../../data/tasks.ts';
import type { AgentSession, Task } from '../../data/types.ts';
import { Text, useText } from '../../i18n/Text.tsx';
import { taskAddress } from '../../parts/addresses.ts';
import { Badge } from '../../parts/Badge.tsx';
import { Button } from '../../parts/Button.tsx';
import { Empty, Loading, LoadedList } from '../../parts/State.tsx';
import { Ago, Name } from '../../parts/words.tsx';
import { firstLine, isOpen, TaskState } from './looks.tsx';
import { Rounds, TaskRow } from './TaskRow.tsx';

const Markdown = lazy(() => import('../note/Markdown.tsx'));
const outcomes = 10;

/** What goes on now, what came out last, and who works here under which limits. */
export function State({ session, onNew }: { session: AgentSession; onNew: (() => void) | undefined }) {
  const list = useList(tasksQuery(session.id));
  return (
    <>
      <LoadedList of={list} rows={3}>
        {tasks => <Work session={session} tasks={tasks} onNew={onNew} />}
      </LoadedList>
      <Agents session={session} tasks={list.items ?? []} />
      <Limits session={session} />
    </>
  );
}

interface WorkProps {
  session: AgentSession;
  tasks: Task[];
  onNew: (() => void) | undefined;
}

function Work({ session, tasks, onNew }: WorkProps) {
  const say = useText();
  const open = tasks.filter(isOpen);
  const now = open.find(task => task.state !== 'queued') ?? open.at(-1);
  const over = tasks.filter(task => !isOpen(task));
  const last = over.find(task => task.result_chars > 0) ?? over[0];
  if (tasks.length === 0) {
    return (
      <div className="card">
        <Empty
          icon={CircleDashed}
          title={say('app.session.state.none')}
          action={
            onNew && (
              <Button onPress={onNew}>
                <Plus aria-hidden />
                {say('app.task.new')}
              </Button>
            )
          }
        >
          {say('app.session.state.none.text')}
        </Empty>
      </div>
    );
  }
  return (
    <>
      {now && (
        <section className="section" aria-labelledby="now">
          <h2 id="now">{say('app.session.now')}</h2>
          <ul className="card list">
            <TaskRow task={now} />
          </ul>
          <Rounds task={now} label={say('app.task.progress')} />
        </section>
      )}
      {last && <Last task={last} />}
      {session.type === 'loop' && over.length > 0 && <Outcomes tasks={over.slice(0, outcomes)} />}
    </>
  );
}

function Last({ task: { session_id, id } }: { task: Task }) {
  const say = useText();
  const task = useQuery(taskQuery(session_id, id)).data;
  return (
    <section className="card" aria-labelledby="last">
      <div className="sec">
        <div className="row">
          <h2 id="last">{say('app.session.last')}</h2>
          {task && <TaskState state={task.state} />}
          <span className="end">
            <Link href={taskAddress(session_id, id)}>{say('app.session.last.open')}</Link>
          </span>
        </div>
        {task && (
          <p className="meta">
            <span dir="auto">
              <Name>{firstLine(task.goal)}</Name>
            </span>
            {task.ended_at && (
              <span>
                <Ago at={task.ended_at} />
              </span>
            )}
            {task.result_by && (
              <span>
                <Text of="app.task.result.by" agent={<Name>{task.result_by}</Name>} />
              </span>
            )}
          </p>
        )}
      </div>
      <div className="sec">
        {!task ? (
          <Loading rows={2} />
        ) : task.result?.trim() ? (
          <Suspense fallback={<Loading rows={2} />}>
            <Markdown text={task.result} showHosts />
          </Suspense>
        ) : (
          <p className="muted">{say('app.task.result.none')}</p>
        )}
      </div>
    </section>
  );
}

/** How a loop ended the last times, oldest first. */
function Outcomes({ tasks }: { tasks: Task[] }) {
  const say = useText();
  return (
    <section className="section" aria-labelledby="outcomes">
      <h2 id="outcomes">{say('app.session.outcomes')}</h2>
      <ol className="outcomes">
        {tasks.toReversed().map(task => (
          <li key={task.id}>
            <Link href={taskAddress(task.session_id, task.id)}>
              <TaskState state={task.state} />
            </Link>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Agents({ session, tasks }: { session: AgentSession; tasks: Task[] }) {
  const say = useText();
  const running = tasks.find(task => task.state === 'running');
  const detail = useQuery({ ...taskQuery(session.id, running?.id ?? ''), enabled: running !== undefined }).data;
  const busy = running && detail?.rounds?.find(round => round.state === 'running')?.agent;
  return (
    <section className="section" aria-labelledby="workers">
      <h2 id="workers">{say('app.session.agents')}</h2>
      <ul className="card list">
        {session.agents.map((agent, i) => (
          <li key={agent.slug}>
            <span className="tile" aria-hidden>
              <Bot />
            </span>
            <div className="what">
              <span className="title">
                <Name>{agent.slug}</Name>
                {session.type === 'team' && i === 0 && <Badge>{say('app.session.leads')}</Badge>}
              </span>
              <span className="meta">
                <span>
                  {agent.provider === rehearsal ? say('app.session.rehearsal') : <Name>{agent.provider}</Name>}
                </span>
                {agent.model && <Name>{agent.model}</Name>}
                <span>{say('app.session.agent.tools.count', { n: agent.tools?.length ?? 0 })}</span>
              </span>
              <details className="fold small">
                <summary>{say('app.session.agent.more')}</summary>
                <div className="said">
                  <p dir="auto">{agent.instructions.trim() || say('app.session.agent.instructions.none')}</p>
                  {(agent.tools?.length ?? 0) > 0 && <p className="mono">{agent.tools!.join(', ')}</p>}
                </div>
              </details>
            </div>
            <span className="acts">
              {busy === agent.slug ? (
                <TaskState state="running" />
              ) : (
                <Badge icon={CircleCheck}>{say('app.session.agent.free')}</Badge>
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Limits({ session }: { session: AgentSession }) {
  const say = useText();
  const { budget, done } = session;
  const condition = done.phrase
    ? say('app.session.done.is.phrase', { phrase: done.phrase })
    : done.verdict
      ? say('app.session.done.verdict')
      : done.command
        ? say('app.session.done.is.command', { command: done.command.join(' ') })
        : say('app.session.done.none');
  return (
    <section className="card" aria-labelledby="figures">
      <div className="sec">
        <h2 id="figures">{say('app.session.limits')}</h2>
      </div>
      <dl className="sec facts">
        <div>
          <dt>{say('app.session.max_rounds')}</dt>
          <dd>{say('app.task.rounds', { n: session.max_rounds })}</dd>
        </div>
        <div>
          <dt>{say('app.session.budget.rounds')}</dt>
          <dd>{budget.rounds ? say('app.task.rounds', { n: budget.rounds }) : say('app.session.budget.none')}</dd>
        </div>
        <div>
          <dt>{say('app.session.budget.tokens')}</dt>
          <dd>{budget.tokens ? say('app.task.tokens', { n: budget.tokens }) : say('app.session.budget.none')}</dd>
        </div>
        <div>
          <dt>{say('app.session.budget.minutes')}</dt>
          <dd>{budget.minutes ? say('app.session.minutes', { n: budget.minutes }) : say('app.session.budget.none')}</dd>
        </div>
        {session.type === 'loop' && (
          <div>
            <dt>{say('app.session.done')}</dt>
            <dd>{condition}</dd>
          </div>
        )}
      </dl>
    </section>
  );
}
