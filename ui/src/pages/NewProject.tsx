import { useLocation } from 'wouter';
import { createProject } from '../data/projects.ts';
import { useText } from '../i18n/Text.tsx';
import { FormDialog } from '../parts/Dialog.tsx';
import { Checkbox, TextField } from '../parts/Field.tsx';
import { done } from '../parts/toast.ts';

export function NewProject({
  workspace,
  isOpen,
  onClose,
}: {
  workspace: string;
  isOpen: boolean;
  onClose: () => void;
}) {
  const say = useText();
  const [, navigate] = useLocation();
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={onClose}
      title={say('app.project.new')}
      submit={say('app.project.create')}
      onSubmit={async form => {
        const made = await createProject(workspace, String(form.get('name')), form.get('private') === 'on');
        done(say('app.project.created', { project: made.name }));
        navigate(`/p/${made.id}`);
      }}
    >
      {faults => (
        <>
          <TextField label={say('app.name')} name="name" isRequired autoFocus autoComplete="off" fault={faults.name} />
          <Checkbox name="private" value="on">
            {say('app.project.private.choose')}
          </Checkbox>
        </>
      )}
    </FormDialog>
  );
}
