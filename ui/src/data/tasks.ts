import { queryOptions } from '@tanstack/react-query';
import { again } from './again.ts';
import { asApiError, at, get, post } from './api.ts';
import { cache, listOptions, patchLists } from './cache.ts';
import { onKind } from './live.ts';
import { startOver } from './speech.ts';
import type { Task } from './types.ts';

/** More rounds than any task has. */
const allRounds = 100;

const listKey = (session: string) => ['session', session, 'tasks'];
const taskKey = (session: string, task: string) => ['session', session, 'task', task];

/** Newest first; open ones are those that are not over. */
export const tasksQuery = (session: string, open = false) =>
  listOptions<Task>(
    [...listKey(session), open],
    at`/agent-sessions/${session}/tasks`,
    { open: open ? 'true' : undefined },
    50,
  );

const readTask = (session: string, task: string, signal?: AbortSignal) =>
  get<Task>(at`/agent-sessions/${session}/tasks/${task}`, { limit: allRounds }, signal);

/** With its result and its rounds. */
export const taskQuery = (session: string, task: string) =>
  queryOptions({ queryKey: taskKey(session, task), queryFn: ({ signal }) => readTask(session, task, signal) });

/** Lists hold neither result nor rounds, and answers of changes neither; what was read of them stays. */
function keepTask(task: Task): Task {
  const key = taskKey(task.session_id, task.id);
  cache.setQueryData<Task>(key, was => (was ? { ...was, ...task } : task.rounds ? task : undefined));
  patchLists(listKey(task.session_id), task);
  return task;
}

export async function queueTask(session: string, goal: string, maxRounds?: number): Promise<Task> {
  const made = await post<Task>(at`/agent-sessions/${session}/tasks`, {
    goal,
    ...(maxRounds !== undefined && { max_rounds: maxRounds }),
  });
  await cache.invalidateQueries({ queryKey: listKey(session) });
  return made;
}

export async function stopTask(task: Task): Promise<Task> {
  return keepTask(await post<Task>(at`/agent-sessions/${task.session_id}/tasks/${task.id}/stop`));
}

/** Lets what the task began outside be done again, or stops it. */
export async function resumeTask(task: Task, decision: 'again' | 'stop'): Promise<Task> {
  return keepTask(await post<Task>(at`/agent-sessions/${task.session_id}/tasks/${task.id}/resume`, { decision }));
}

onKind('session', async event => {
  const id = event.data?.task_id;
  if (typeof id !== 'string' || !/^(task|round)\./.test(event.type)) return;
  const { id: session, type } = event;
  if (type === 'round.started' && typeof event.data?.number === 'number') startOver(id, event.data.number);
  if (type === 'task.queued' || type === 'task.started' || type === 'task.ended' || type === 'task.waiting')
    // Who waits in which place changes for all.
    void again(`tasks ${session}`, () => cache.invalidateQueries({ queryKey: listKey(session) }));
  const shown = cache.getQueryState(taskKey(session, id)) !== undefined;
  if (!shown && cache.getQueriesData({ queryKey: listKey(session) }).length === 0) return;
  await again(`task ${id}`, async () => {
    try {
      keepTask(await readTask(session, id));
    } catch (thrown) {
      const error = asApiError(thrown);
      if (error.notFound || error.denied) void cache.invalidateQueries({ queryKey: taskKey(session, id) });
    }
  });
});

/** The task as it stands now, where somebody else was first. */
export const readTaskAgain = async (task: Task) => keepTask(await readTask(task.session_id, task.id));
