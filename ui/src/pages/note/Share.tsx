import { useEffect, useState } from 'react';
import { asApiError } from '../../data/api.ts';
import { useList } from '../../data/cache.ts';
import { useMe } from '../../data/me.ts';
import { membersQuery } from '../../data/members.ts';
import { readAcl, shareNote } from '../../data/notes.ts';
import type { Acl, Note } from '../../data/types.ts';
import { useText } from '../../i18n/Text.tsx';
import { byName } from '../../i18n/time.ts';
import { FormDialog } from '../../parts/Dialog.tsx';
import { Select } from '../../parts/Field.tsx';
import { done, failed } from '../../parts/toast.ts';

interface Props {
  note: Note;
  isOpen: boolean;
  onClose: () => void;
}

/** Says who can open a note: its whole project, or listed people. */
export function ShareDialog({ note, isOpen, onClose }: Props) {
  const say = useText();
  const [shown, setShown] = useState<Acl>();
  const [listed, setListed] = useState(false);
  const members = useList({ ...membersQuery(note.workspace_id), enabled: isOpen }).items;
  useEffect(() => {
    if (!isOpen) return;
    let closed = false;
    readAcl(note.id).then(
      acl => {
        if (closed) return;
        setShown(acl);
        setListed(note.restricted);
      },
      thrown => {
        if (closed) return;
        failed(asApiError(thrown).message);
        onClose();
      },
    );
    return () => {
      closed = true;
      setShown(undefined);
    };
    // oxlint-disable-next-line react/exhaustive-deps -- it is read once each time it opens
  }, [isOpen, note.id]);
  const me = useMe();
  // Who shares with nobody yet does not lock themselves out.
  const rightOf = (id: string) =>
    shown?.users.find(user => user.id === id)?.right ?? (id === me.id && !note.restricted ? 'edit' : 'none');
  // Who is listed stays so, whether or not the list of members holds them.
  const people = [...new Map([...(shown?.users ?? []), ...(members ?? [])].map(user => [user.id, user])).values()];
  return (
    <FormDialog
      isOpen={isOpen && shown !== undefined && members !== undefined}
      onClose={onClose}
      title={say('app.note.share.title', { note: note.title })}
      submit={say('app.note.share.save')}
      onSubmit={async form => {
        const users = people
          .map(({ id }) => ({ id, right: String(form.get(`right ${id}`)) }))
          .filter(({ right }) => right === 'view' || right === 'edit');
        await shareNote(note, shown!, listed ? users : undefined);
        done(say('app.note.share.saved', { note: note.title }));
      }}
    >
      {faults => (
        <>
          <Select
            label={say('app.note.share.who')}
            value={listed ? 'listed' : 'everyone'}
            options={[
              ['everyone', say('app.note.share.everyone')],
              ['listed', say('app.note.share.listed')],
            ]}
            onChange={who => setListed(who === 'listed')}
            fault={Object.values(faults)[0]}
          />
          {listed &&
            people.toSorted(byName).map(({ id, name }) => (
              <Select
                key={id}
                label={name}
                name={`right ${id}`}
                defaultValue={rightOf(id)}
                options={[
                  ['none', say('app.note.share.none')],
                  ['view', say('app.note.share.view')],
                  ['edit', say('app.note.share.edit')],
                ]}
              />
            ))}
        </>
      )}
    </FormDialog>
  );
}
