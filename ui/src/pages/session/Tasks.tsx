import { ListTodo, Plus } from 'lucide-react';
import { useList } from '../../data/cache.ts';
import { tasksQuery } from '../../data/tasks.ts';
import type { AgentSession, Task } from '../../data/types.ts';
import { useText } from '../../i18n/Text.tsx';
import { Badge } from '../../parts/Badge.tsx';
import { Button } from '../../parts/Button.tsx';
import { More } from '../../parts/More.tsx';
import { Empty, LoadedList } from '../../parts/State.tsx';
import type { Rights } from '../SessionPage.tsx';
import { isOpen } from './looks.tsx';
import { Rounds, TaskRow } from './TaskRow.tsx';
import { StopTask } from './StopTask.tsx';

interface Props {
  session: AgentSession;
  rights: Rights;
  onNew: (() => void) | undefined;
}

/** What is worked on and what waits, in its order; below it what is over. */
export function Tasks({ session, rights, onNew }: Props) {
  const say = useText();
  const list = useList(tasksQuery(session.id));
  return (
    <LoadedList of={list} rows={5}>
      {items => {
        if (items.length === 0) {
          return (
            <div className="card">
              <Empty
                icon={ListTodo}
                title={say('app.tasks.none')}
                action={
                  onNew && (
                    <Button onPress={onNew}>
                      <Plus aria-hidden />
                      {say('app.task.new')}
                    </Button>
                  )
                }
              >
                {say('app.tasks.none.text')}
              </Empty>
            </div>
          );
        }
        const open = items.filter(isOpen).toSorted(inOrder);
        const over = items.filter(task => !isOpen(task));
        return (
          <>
            {open.length > 0 && (
              <section className="section" aria-labelledby="open">
                <div className="row">
                  <h2 id="open">{say('app.tasks.open')}</h2>
                  <Badge>{open.length}</Badge>
                </div>
                <ul className="card list">
                  {open.map(task => (
                    <TaskRow key={task.id} task={task}>
                      {rights.edit && <StopTask task={task} />}
                    </TaskRow>
                  ))}
                </ul>
                {open[0]!.state === 'running' && <Rounds task={open[0]!} label={say('app.task.progress')} />}
              </section>
            )}
            {over.length > 0 && (
              <section className="section" aria-labelledby="over">
                <h2 id="over">{say('app.tasks.over')}</h2>
                <ul className="card list">
                  {over.map(task => (
                    <TaskRow key={task.id} task={task} />
                  ))}
                </ul>
              </section>
            )}
            <More of={list} />
          </>
        );
      }}
    </LoadedList>
  );
}

const urgency: Record<Task['state'], number> = {
  running: 0,
  waiting: 1,
  queued: 2,
  succeeded: 3,
  failed: 3,
  stopped: 3,
};

const inOrder = (a: Task, b: Task) =>
  urgency[a.state] - urgency[b.state] ||
  (a.queue_position ?? 0) - (b.queue_position ?? 0) ||
  a.created_at.localeCompare(b.created_at);
