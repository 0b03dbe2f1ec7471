import { CircleStop } from 'lucide-react';
import { useState } from 'react';
import { asApiError } from '../../data/api.ts';
import { readTaskAgain, stopTask } from '../../data/tasks.ts';
import type { Task } from '../../data/types.ts';
import { useText } from '../../i18n/Text.tsx';
import { Button } from '../../parts/Button.tsx';
import { FormDialog } from '../../parts/Dialog.tsx';
import { done, failed } from '../../parts/toast.ts';
import { firstLine } from './looks.tsx';

/** Stops a task, asking once. Who comes too late is told how it ended. */
export function StopTask({ task }: { task: Task }) {
  const say = useText();
  const [asked, ask] = useState(false);
  return (
    <>
      <Button
        kind="danger"
        onPress={() => ask(true)}
        aria-label={say('app.task.stop.label', { goal: short(firstLine(task.goal)) })}
      >
        <CircleStop aria-hidden />
        {say('app.task.stop')}
      </Button>
      <FormDialog
        isOpen={asked}
        onClose={() => ask(false)}
        danger
        title={say('app.task.stop.title')}
        submit={say('app.task.stop')}
        onSubmit={async () => {
          try {
            await stopTask(task);
            done(say('app.task.stopped'));
          } catch (thrown) {
            const error = asApiError(thrown);
            if (error.code !== 'already_decided') throw thrown;
            await readTaskAgain(task);
            failed(error.message);
          }
        }}
      >
        <p>{say('app.task.stop.text')}</p>
      </FormDialog>
    </>
  );
}

const short = (goal: string) => (goal.length > 60 ? `${goal.slice(0, 60)}…` : goal);
