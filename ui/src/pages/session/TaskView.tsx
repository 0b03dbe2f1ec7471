import { useQuery } from '@tanstack/react-query';
import { ChevronLeft, CirclePause, Cpu, TriangleAlert, Wrench } from 'lucide-react';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { announce } from '../../app/announce.ts';
import { asApiError } from '../../data/api.ts';
import { speechOf } from '../../data/speech.ts';
import { resumeTask, taskQuery } from '../../data/tasks.ts';
import type { AgentSession, Round, Task, ToolCall } from '../../data/types.ts';
import { clean } from '../../i18n/format.ts';
import { Text, useText } from '../../i18n/Text.tsx';
import { clock, useClock } from '../../i18n/time.ts';
import { sessionAddress } from '../../parts/addresses.ts';
import { Badge } from '../../parts/Badge.tsx';
import { Button } from '../../parts/Button.tsx';
import { useHeading } from '../../parts/Page.tsx';
import { Loaded, Loading } from '../../parts/State.tsx';
import { done, failed } from '../../parts/toast.ts';
import { Ago, Name } from '../../parts/words.tsx';
import type { Rights } from '../SessionPage.tsx';
import { spent } from './spent.ts';
import { firstLine, isOpen, reasonIn, roundOf, roundStates, TaskState } from './looks.tsx';
import { Rounds, TaskBy } from './TaskRow.tsx';
import { Speech } from './Speech.tsx';
import { StopTask } from './StopTask.tsx';

const Markdown = lazy(() => import('../note/Markdown.tsx'));

interface Props {
  session: AgentSession;
  task: string;
  rights: Rights;
}

export function TaskView({ session, task: id, rights }: Props) {
  const task = useQuery(taskQuery(session.id, id));
  return (
    <Loaded of={task} rows={4}>
      {data => (
        <Of session={session} task={data} rights={rights} again={() => void task.refetch({ cancelRefetch: false })} />
      )}
    </Loaded>
  );
}

interface OfProps {
  session: AgentSession;
  task: Task;
  rights: Rights;
  again: () => void;
}

function Of({ session, task, rights, again }: OfProps) {
  const say = useText();
  const heading = useHeading<HTMLHeadingElement>();
  const goal = clean(task.goal);
  useMilestones(task);
  return (
    <div className="task">
      <p>
        <Link href={sessionAddress(session.id, 'tasks')} className="back">
          <ChevronLeft aria-hidden />
          {say('app.tasks.all')}
        </Link>
      </p>
      <div className="taskhead">
        <div>
          <h2 ref={heading} tabIndex={-1} dir="auto">
            {firstLine(goal)}
          </h2>
          <div className="meta">
            <TaskState state={task.state} />
            <span>{say('app.task.round_of', { k: roundOf(task), max: task.max_rounds })}</span>
            <span>
              <TaskBy task={task} />
            </span>
            <span>
              <Ago at={task.started_at ?? task.created_at} />
            </span>
            <span>{spent(task.millis)}</span>
            <span>{say('app.task.tokens', { n: task.tokens })}</span>
          </div>
        </div>
        {rights.edit && isOpen(task) && <StopTask task={task} />}
      </div>
      <Rounds task={task} label={say('app.task.progress')} />
      {goal.includes('\n') && (
        <details className="fold">
          <summary>{say('app.task.goal.whole')}</summary>
          <p className="said pre" dir="auto">
            {goal}
          </p>
        </details>
      )}
      {task.state === 'waiting' && <NeedsPerson task={task} mayDecide={rights.edit} />}
      {task.state === 'queued' && (
        <p className="banner info">
          {task.queue_position
            ? say('app.task.position', { position: task.queue_position })
            : say('app.task.state.queued')}
        </p>
      )}
      {task.state === 'running' && <NoSign task={task} />}
      {!isOpen(task) && <Result task={task} />}
      {(task.rounds?.length ?? 0) > 0 && <AllRounds task={task} rounds={task.rounds!} again={again} />}
    </div>
  );
}

/** Says when a round begins and when the task ends, at most one thing in five seconds. */
function useMilestones(task: Task) {
  const say = useText();
  const was = useRef({ rounds: task.rounds?.length ?? 0, state: task.state });
  const quietUntil = useRef(0);
  const rounds = task.rounds?.length ?? 0;
  useEffect(() => {
    const before = was.current;
    was.current = { rounds, state: task.state };
    const now = Date.now();
    if (before.state !== task.state && !isOpen(task)) announce(say('app.task.said.ended'));
    else if (rounds > before.rounds && now > quietUntil.current)
      announce(say('app.task.said.round', { round: rounds }));
    else return;
    quietUntil.current = now + 5_000;
  }, [rounds, task, say]);
}

/** Something outside was begun and nobody knows how it ended: only a person can go on. */
function NeedsPerson({ task, mayDecide }: { task: Task; mayDecide: boolean }) {
  const say = useText();
  const [busy, setBusy] = useState(false);
  const resume = async (decision: 'again' | 'stop') => {
    setBusy(true);
    try {
      await resumeTask(task, decision);
      done(say(decision === 'again' ? 'app.task.resumed' : 'app.task.stopped'));
    } catch (thrown) {
      failed(asApiError(thrown).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <section className="banner" aria-label={say('app.task.needs')}>
      <CirclePause aria-hidden />
      <div>
        <p>
          <strong>{say('app.task.needs')}</strong>
        </p>
        <p>{reasonIn(task.reason)}</p>
        {!mayDecide && <p>{say('app.task.needs.editors')}</p>}
      </div>
      {mayDecide && (
        <div className="row">
          <Button onPress={() => void resume('stop')} isBusy={busy}>
            {say('app.task.stop')}
          </Button>
          <Button onPress={() => void resume('again')} isBusy={busy}>
            {say('app.task.again')}
          </Button>
        </div>
      )}
    </section>
  );
}

const silence = 5 * 60_000;
const isSilent = (since: number) => Date.now() - since >= silence;

/** Says so when a round has been quiet for long; whether it is dead nobody can tell from here. */
function NoSign({ task }: { task: Task }) {
  const say = useText();
  useClock();
  const round = task.rounds?.at(-1);
  if (!round?.started_at || round.state !== 'running') return null;
  const last = Math.max(Date.parse(round.started_at), speechOf(task.id, round.number, '').at);
  if (!isSilent(last)) return null;
  return (
    <p className="banner">
      <TriangleAlert aria-hidden />
      {say('app.task.no_sign', { time: clock(new Date(last).toISOString()) })}
    </p>
  );
}

/** How the task ended: its result as it was written, or why there is none. */
function Result({ task }: { task: Task }) {
  const say = useText();
  const result = task.result ?? '';
  return (
    <section className="card" aria-labelledby="result">
      <div className="sec row">
        <h2 id="result">{say('app.task.result')}</h2>
        <TaskState state={task.state} />
        {task.result_by && (
          <span className="muted small">
            <Text of="app.task.result.by" agent={<Name>{task.result_by}</Name>} />
          </span>
        )}
      </div>
      <div className="sec stack">
        {task.reason && <p className={task.state === 'failed' ? 'alert' : 'muted'}>{reasonIn(task.reason)}</p>}
        {result.trim() ? (
          <Suspense fallback={<Loading rows={2} />}>
            <Markdown text={result} showHosts />
          </Suspense>
        ) : (
          <p className="muted">{say('app.task.result.none')}</p>
        )}
      </div>
    </section>
  );
}

/** Rounds to choose from, and the one that was chosen. The newest one is, until somebody chooses. */
function AllRounds({ task, rounds, again }: { task: Task; rounds: Round[]; again: () => void }) {
  const say = useText();
  const [search, setSearch] = useSearchParams();
  const wanted = Number(search.get('round'));
  const chosen = rounds.find(round => round.number === wanted) ?? rounds.at(-1)!;
  const choose = (number: number) => setSearch(new URLSearchParams({ round: String(number) }), { replace: true });
  return (
    <section className="rounds" aria-label={say('app.rounds')}>
      <ol className="roundlist">
        {rounds.map(round => {
          const [Icon, state] = roundStates[round.state];
          return (
            <li key={round.number}>
              <button
                type="button"
                className="round"
                data-state={round.state}
                aria-current={round === chosen ? 'true' : undefined}
                onClick={() => choose(round.number)}
              >
                <Icon aria-hidden />
                <span>
                  <span className="title">
                    <Text of="app.round.of" n={round.number} agent={<Name>{round.agent}</Name>} />
                  </span>
                  <span className="small muted">
                    {say(state)}
                    {round.started_at && round.ended_at && (
                      <> · {spent(Date.parse(round.ended_at) - Date.parse(round.started_at))}</>
                    )}
                  </span>
                </span>
              </button>
            </li>
          );
        })}
      </ol>
      <OneRound key={chosen.number} task={task} round={chosen} again={again} />
    </section>
  );
}

function OneRound({ task, round, again }: { task: Task; round: Round; again: () => void }) {
  const say = useText();
  return (
    <div className="roundbody">
      <div className="meta">
        {round.model && (
          <span className="row">
            <Cpu aria-hidden />
            <Name>{round.model}</Name>
          </span>
        )}
        <span>{say('app.round.tokens', { in: round.tokens_in, out: round.tokens_out })}</span>
        {round.attempt > 1 && <span>{say('app.round.attempt', { attempt: round.attempt })}</span>}
      </div>
      {round.reason && <p className="alert">{reasonIn(round.reason)}</p>}
      <Speech
        task={task.id}
        number={round.number}
        read={round.text}
        label={say('app.round.text', { round: round.number })}
        live={round.state === 'running'}
        onGap={again}
      />
      {round.calls.length > 0 && (
        <ul className="calls" aria-label={say('app.round.calls')}>
          {round.calls.map(call => (
            <Call key={call.id} call={call} />
          ))}
        </ul>
      )}
    </div>
  );
}

/** A call of a tool, folded; what went in and what came back is as it was. */
function Call({ call }: { call: ToolCall }) {
  const say = useText();
  return (
    <li>
      <details className="fold">
        <summary>
          <Wrench aria-hidden />
          <code>{clean(call.name)}</code>
          {call.failed && (
            <Badge tone="bad" icon={TriangleAlert}>
              {say('app.round.call.failed')}
            </Badge>
          )}
        </summary>
        <div className="said">
          <div>
            <h3>{say('app.round.call.in')}</h3>
            <pre dir="auto">{clean(pretty(call.arguments))}</pre>
          </div>
          <div>
            <h3>{say('app.round.call.out')}</h3>
            <pre dir="auto">{clean(pretty(call.result)) || say('app.round.call.nothing')}</pre>
          </div>
        </div>
      </details>
    </li>
  );
}

/** JSON with its lines; what is none stays as it is. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
