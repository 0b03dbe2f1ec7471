import { useLocation } from 'wouter';
import { queueTask } from '../../data/tasks.ts';
import type { AgentSession } from '../../data/types.ts';
import { useText } from '../../i18n/Text.tsx';
import { taskAddress } from '../../parts/addresses.ts';
import { FormDialog } from '../../parts/Dialog.tsx';
import { Select, TextAreaField } from '../../parts/Field.tsx';
import { done } from '../../parts/toast.ts';

const mostAsked = 10; // rounds that somebody can ask for
const usual = 3;

interface Props {
  session: AgentSession;
  isOpen: boolean;
  onClose: () => void;
}

/** A person asks for work: a goal, and how many rounds it may take. */
export function NewTask({ session, isOpen, onClose }: Props) {
  const say = useText();
  const [, navigate] = useLocation();
  const most = Math.min(mostAsked, session.max_rounds);
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={onClose}
      title={say('app.task.new')}
      submit={say('app.task.queue')}
      onSubmit={async form => {
        const made = await queueTask(session.id, String(form.get('goal')), Number(form.get('rounds')));
        done(say('app.task.queued'));
        navigate(taskAddress(session.id, made.id));
      }}
    >
      {faults => (
        <>
          <TextAreaField
            label={say('app.task.goal')}
            help={say('app.task.goal.help')}
            name="goal"
            rows={4}
            maxLength={10_000}
            autoFocus
            isRequired
            fault={faults.goal}
          />
          <Select
            label={say('app.task.max_rounds')}
            name="rounds"
            defaultValue={String(Math.min(usual, most))}
            options={Array.from(
              { length: most },
              (_, i) => [String(i + 1), say('app.task.rounds', { n: i + 1 })] as const,
            )}
            fault={faults.max_rounds}
          />
        </>
      )}
    </FormDialog>
  );
}
