import { Plus, Users } from 'lucide-react';
import { useState } from 'react';
import { asApiError } from '../data/api.ts';
import { useList } from '../data/cache.ts';
import { addMember, membersQuery, removeMember, setRole, type Role } from '../data/members.ts';
import { useMe, useTeam } from '../data/me.ts';
import type { Member, Team } from '../data/types.ts';
import { Text, useText } from '../i18n/Text.tsx';
import { byName } from '../i18n/time.ts';
import { Badge } from '../parts/Badge.tsx';
import { Button } from '../parts/Button.tsx';
import { Copy } from '../parts/Copy.tsx';
import { Dialog, FormDialog } from '../parts/Dialog.tsx';
import { Select, TextField } from '../parts/Field.tsx';
import { More } from '../parts/More.tsx';
import { Page } from '../parts/Page.tsx';
import { PersonTile } from '../parts/Person.tsx';
import { Empty, LoadedList } from '../parts/State.tsx';
import { done, failed } from '../parts/toast.ts';
import { Ago, Name } from '../parts/words.tsx';
import { NotFound } from './NotFound.tsx';

export function People({ workspace: id }: { workspace: string }) {
  const workspace = useTeam(id);
  return workspace ? <Of workspace={workspace} /> : <NotFound />;
}

const roles = ['owner', 'editor', 'viewer'] as const satisfies Role[];

function Of({ workspace }: { workspace: Team }) {
  const say = useText();
  const list = useList(membersQuery(workspace.id));
  const [adding, setAdding] = useState(false);
  const [invited, setInvited] = useState<Member>();
  const owner = workspace.role === 'owner';
  return (
    <Page
      title={say('app.people')}
      crumbs={[{ text: workspace.name, to: `/w/${workspace.id}` }]}
      meta={say('app.people.text', { workspace: workspace.name })}
      actions={
        owner && (
          <Button kind="primary" onPress={() => setAdding(true)}>
            <Plus aria-hidden />
            {say('app.people.add')}
          </Button>
        )
      }
    >
      <LoadedList of={list} rows={4}>
        {items =>
          items.length === 0 ? (
            <Empty icon={Users} title={say('app.people.none')} />
          ) : (
            <ul className="card list">
              {items.toSorted(byName).map(member => (
                <Row key={member.id} member={member} workspace={workspace} />
              ))}
            </ul>
          )
        }
      </LoadedList>
      <More of={list} />
      <dl className="facts small">
        {roles.map(role => (
          <div key={role}>
            <dt>{say(`role.${role}`)}</dt>
            <dd className="muted">{say(`app.role.${role}`)}</dd>
          </div>
        ))}
      </dl>
      {!owner && <p className="help">{say('app.people.owners')}</p>}
      <FormDialog
        isOpen={adding}
        onClose={() => setAdding(false)}
        title={say('app.people.add')}
        submit={say('app.people.add')}
        onSubmit={async form => {
          const text = (name: string) => String(form.get(name));
          const made = await addMember(workspace.id, text('email'), text('name'), text('role') as Role);
          if (made.invite_url) setInvited(made);
          else done(say('app.people.added', { person: made.name, workspace: workspace.name }));
        }}
      >
        {faults => (
          <>
            <TextField
              label={say('app.name')}
              name="name"
              isRequired
              autoFocus
              autoComplete="off"
              fault={faults.name}
            />
            <TextField
              label={say('app.email')}
              name="email"
              type="email"
              isRequired
              autoComplete="off"
              fault={faults.email}
            />
            <Select<Role>
              label={say('app.role')}
              name="role"
              defaultValue="editor"
              options={roles.map(role => [role, say(`role.${role}`)] as const)}
            />
          </>
        )}
      </FormDialog>
      <Dialog
        isOpen={invited !== undefined}
        onClose={() => setInvited(undefined)}
        title={say('app.people.invited', { person: invited?.name ?? '' })}
      >
        <p>{say('app.people.invited.text')}</p>
        <Copy label={say('app.people.link')} text={invited?.invite_url ?? ''} copied={say('app.people.link.copied')} />
        <div className="actions">
          <Button onPress={() => setInvited(undefined)}>{say('app.close')}</Button>
        </div>
      </Dialog>
    </Page>
  );
}

function Row({ member, workspace }: { member: Member; workspace: Team }) {
  const say = useText();
  const me = useMe();
  const [removing, setRemoving] = useState(false);
  const owner = workspace.role === 'owner';
  const person = member.name;
  const change = async (role: Role) => {
    try {
      await setRole(workspace.id, member.id, role);
      done(say('app.people.role.done', { person, role: say(`role.${role}`) }));
    } catch (thrown) {
      failed(asApiError(thrown).message);
    }
  };
  return (
    <li>
      <PersonTile name={person} />
      <div className="what">
        <span className="title">
          <Name>{person}</Name>
          {member.id === me.id && <Badge>{say('app.you')}</Badge>}
          {member.invited && <Badge>{say('app.people.pending')}</Badge>}
        </span>
        <span className="meta">
          <Name>{member.email}</Name>
          <span>
            <Text of="app.people.since" when={<Ago at={member.joined_at} />} />
          </span>
        </span>
      </div>
      <div className="acts">
        {owner ? (
          <>
            <Select<Role>
              label={say('app.people.role.label', { person })}
              hideLabel
              value={member.role}
              onChange={role => void change(role)}
              options={roles.map(role => [role, say(`role.${role}`)] as const)}
            />
            <Button onPress={() => setRemoving(true)} aria-label={say('app.remove.label', { what: person })}>
              {say('app.remove')}
            </Button>
          </>
        ) : (
          <span className="muted">{say(`role.${member.role}`)}</span>
        )}
      </div>
      <FormDialog
        isOpen={removing}
        onClose={() => setRemoving(false)}
        danger
        title={say('app.remove.title', { client: person, project: workspace.name })}
        submit={say('app.remove')}
        onSubmit={async () => {
          await removeMember(workspace.id, member.id);
          done(say('app.people.removed', { person, workspace: workspace.name }));
        }}
      >
        <p>{say('app.people.remove.text')}</p>
      </FormDialog>
    </li>
  );
}
