import { ListTodo } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Task } from '../../data/types.ts';
import { Text, useText } from '../../i18n/Text.tsx';
import { taskAddress } from '../../parts/addresses.ts';
import { OutsideBadge } from '../../parts/Badge.tsx';
import { Ago, Name } from '../../parts/words.tsx';
import { firstLine, reasonIn, roundOf, TaskState } from './looks.tsx';

/** Who a task works for; an outside assistant never without its label. */
export function TaskBy({ task }: { task: Task }) {
  const say = useText();
  if (!task.connection) {
    return task.user ? <Text of="app.task.by" person={<Name>{task.user.name}</Name>} /> : say('app.task.by.nobody');
  }
  const who = (
    <span className="author">
      <Name>{task.connection.name}</Name>
      <OutsideBadge />
    </span>
  );
  if (!task.handoff_id || !task.user) return <Text of="app.task.by" person={who} />;
  return <Text of="app.task.by.handoff" assistant={who} person={<Name>{task.user.name}</Name>} />;
}

/** How much a task did so far, in words and bar. */
export function Rounds({ task, label }: { task: Task; label: string }) {
  const say = useText();
  const text = say('app.task.round_of', { k: roundOf(task), max: task.max_rounds });
  return (
    <div
      className="roundbar"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={task.max_rounds}
      aria-valuenow={Math.min(task.rounds_done, task.max_rounds)}
      aria-valuetext={text}
    >
      {Array.from({ length: task.max_rounds }, (_, i) => (
        // oxlint-disable-next-line react/no-array-index-key -- the parts of a bar are numbers and nothing else
        <i key={i} data-part={i < task.rounds_done ? 'done' : i === task.rounds_done ? task.state : 'open'} />
      ))}
    </div>
  );
}

export function TaskRow({ task, children }: { task: Task; children?: ReactNode }) {
  const say = useText();
  return (
    <li className="linked">
      <ListTodo aria-hidden />
      <div className="what">
        <span className="title">
          <Link className="over" href={taskAddress(task.session_id, task.id)}>
            <Name>{firstLine(task.goal)}</Name>
          </Link>
        </span>
        <span className="meta">
          <span>
            <TaskBy task={task} />
          </span>
          {task.state === 'queued' && task.queue_position ? (
            <span>{say('app.task.position', { position: task.queue_position })}</span>
          ) : (
            <span>{say('app.task.round_of', { k: roundOf(task), max: task.max_rounds })}</span>
          )}
          {task.reason && task.state !== 'succeeded' && <span>{reasonIn(task.reason)}</span>}
        </span>
      </div>
      <span className="acts small muted">
        <TaskState state={task.state} />
        {children}
        <span className="when">
          <Ago at={task.ended_at ?? task.started_at ?? task.created_at} />
        </span>
      </span>
    </li>
  );
}
