import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { asApiError } from '../../data/api.ts';
import { useList } from '../../data/cache.ts';
import { membersQuery } from '../../data/members.ts';
import { listPeople, sessionACLQuery } from '../../data/sessions.ts';
import type { Acl, AgentSession, Member, Team } from '../../data/types.ts';
import { useText } from '../../i18n/Text.tsx';
import { byName } from '../../i18n/time.ts';
import { Dialog, FormDialog } from '../../parts/Dialog.tsx';
import { Select } from '../../parts/Field.tsx';
import { Failure, Loading } from '../../parts/State.tsx';
import { done } from '../../parts/toast.ts';

interface Props {
  session: AgentSession;
  team: Team;
  onClose: () => void;
}

/** Who can see the session: all of its project, or listed people only. */
export function People({ session, team, onClose }: Props) {
  const say = useText();
  const acl = useQuery(sessionACLQuery(session.id));
  const members = useList(membersQuery(team.id));
  const error = acl.error ?? members.error;
  const title = say('app.session.people');
  if (acl.data && members.items)
    return <Form session={session} acl={acl.data} members={members.items} title={title} onClose={onClose} />;
  return (
    <Dialog isOpen onClose={onClose} title={title}>
      {error ? <Failure error={asApiError(error)} /> : <Loading />}
    </Dialog>
  );
}

type Right = '' | 'view' | 'edit';

interface FormProps {
  session: AgentSession;
  acl: Acl;
  members: Member[];
  title: string;
  onClose: () => void;
}

function Form({ session, acl, members, title, onClose }: FormProps) {
  const say = useText();
  const [mode, setMode] = useState<'all' | 'listed'>(acl.users.length > 0 ? 'listed' : 'all');
  const [rights, setRights] = useState<Record<string, Right>>(() =>
    Object.fromEntries(acl.users.map(user => [user.id, user.right as Right])),
  );
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={title}
      submit={say('app.session.people.save')}
      onSubmit={async () => {
        const users = Object.entries(rights).flatMap(([id, right]) => (right ? [{ id, right }] : []));
        await listPeople(session.id, mode === 'listed' ? users : []);
        done(say('app.session.people.saved', { session: session.title }));
      }}
    >
      <Select
        label={say('app.session.people')}
        value={mode}
        onChange={setMode}
        options={[
          ['all', say('app.session.people.all')],
          ['listed', say('app.session.people.listed')],
        ]}
      />
      {mode === 'listed' && (
        <div className="stack">
          <p className="help">{say('app.session.people.help')}</p>
          {members.toSorted(byName).map(member => (
            <Select<Right>
              key={member.id}
              label={member.name}
              value={rights[member.id] ?? ''}
              onChange={right => setRights({ ...rights, [member.id]: right })}
              options={[
                ['', say('app.session.people.none')],
                ['view', say('app.session.people.view')],
                ['edit', say('app.session.people.edit')],
              ]}
            />
          ))}
        </div>
      )}
    </FormDialog>
  );
}
