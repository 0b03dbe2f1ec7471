import { useLocation } from 'wouter';
import { useList } from '../../data/cache.ts';
import { changeNote } from '../../data/notes.ts';
import { projectsQuery } from '../../data/projects.ts';
import type { Note } from '../../data/types.ts';
import { useText } from '../../i18n/Text.tsx';
import { byName } from '../../i18n/time.ts';
import { Button } from '../../parts/Button.tsx';
import { Dialog, FormDialog } from '../../parts/Dialog.tsx';
import { Select } from '../../parts/Field.tsx';
import { done } from '../../parts/toast.ts';

/** Moves a note to another project of its workspace. */
export function MoveDialog({ note, isOpen, onClose }: { note: Note; isOpen: boolean; onClose: () => void }) {
  const say = useText();
  const [, navigate] = useLocation();
  const all = useList({ ...projectsQuery(note.workspace_id), enabled: isOpen }).items;
  const others = all?.filter(project => project.id !== note.project_id && !project.archived).toSorted(byName);
  if (others?.length === 0) {
    return (
      <Dialog isOpen={isOpen} onClose={onClose} title={say('app.note.move')}>
        <p>{say('app.note.move.none')}</p>
        <div className="actions">
          <Button onPress={onClose}>{say('app.close')}</Button>
        </div>
      </Dialog>
    );
  }
  return (
    <FormDialog
      isOpen={isOpen && others !== undefined}
      onClose={onClose}
      title={say('app.note.move')}
      submit={say('app.note.move')}
      onSubmit={async form => {
        const to = others?.find(project => project.id === form.get('project'));
        if (!to) return;
        await changeNote(note, { project_id: to.id });
        done(say('app.note.moved', { note: note.title, project: to.name }));
        navigate(`/p/${to.id}/notes/${note.id}`, { replace: true });
      }}
    >
      {faults => (
        <>
          <Select
            label={say('app.project')}
            name="project"
            options={(others ?? []).map(project => [project.id, project.name] as const)}
            fault={faults.project_id}
          />
          <p className="help">{say('app.note.move.text')}</p>
        </>
      )}
    </FormDialog>
  );
}
