import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { asApiError } from '../data/api.ts';
import { useTeam } from '../data/me.ts';
import { projectQuery } from '../data/projects.ts';
import { changeSession, sessionQuery } from '../data/sessions.ts';
import type { AgentSession, Team } from '../data/types.ts';
import { useText } from '../i18n/Text.tsx';
import { sessionAddress } from '../parts/addresses.ts';
import { Button, LinkButton } from '../parts/Button.tsx';
import { TextField } from '../parts/Field.tsx';
import { Page } from '../parts/Page.tsx';
import { done } from '../parts/toast.ts';
import { draftOf } from './session/draft.ts';
import { SessionForm } from './session/Form.tsx';
import { TypeBadge } from './session/looks.tsx';
import { Unread } from './Unread.tsx';
import './session/session.css';

export function SessionSettings({ session: id }: { session: string }) {
  const session = useQuery(sessionQuery(id));
  const team = useTeam(session.data?.workspace_id);
  const error = session.error && asApiError(session.error);
  if (!session.data || !team || error?.notFound || error?.denied) return <Unread of={session} />;
  return <Of now={session.data} team={team} />;
}

/**
 * The agents of a session and their limits. What is written here was made from the
 * session as it was; if that changes meanwhile nothing typed is lost, and nothing
 * of theirs is written over.
 */
function Of({ now, team }: { now: AgentSession; team: Team }) {
  const say = useText();
  const [, navigate] = useLocation();
  const [base, setBase] = useState(now);
  const [draft, setDraft] = useState(() => draftOf(now));
  const project = useQuery(projectQuery(now.project_id)).data;
  const address = sessionAddress(now.id);
  const changed = now.version > base.version;
  const takeTheirs = () => {
    setBase(now);
    setDraft(draftOf(now));
  };
  return (
    <Page
      title={say('app.session.settings.of', { session: now.title })}
      here={say('app.session.settings')}
      crumbs={[
        { text: team.name, to: `/w/${team.id}` },
        ...(project ? [{ text: project.name, to: `/p/${project.id}` }] : []),
        { text: now.title, to: address },
      ]}
      meta={<TypeBadge type={now.type} />}
    >
      {team.role === 'viewer' || now.archived ? (
        <p className="alert">{say(now.archived ? 'app.session.archived' : 'app.session.new.editors')}</p>
      ) : (
        <>
          {changed && (
            <div className="banner">
              <p>{say('app.session.settings.changed')}</p>
              <Button onPress={takeTheirs}>{say('app.conflict.theirs')}</Button>
              <Button onPress={() => setBase(now)}>{say('app.conflict.mine')}</Button>
            </div>
          )}
          <SessionForm
            team={team}
            draft={draft}
            onChange={setDraft}
            submit={say('app.session.save')}
            onSubmit={async ({ title, agents, budget = {}, done: condition = {}, max_rounds }) => {
              const change = { title, agents, budget, done: condition, ...(max_rounds && { max_rounds }) };
              await changeSession(base, change);
              done(say('app.session.saved', { session: title }));
              navigate(address);
            }}
            cancel={<LinkButton to={address}>{say('app.cancel')}</LinkButton>}
          >
            {faults => (
              <TextField
                label={say('app.title')}
                value={draft.title}
                onChange={title => setDraft({ ...draft, title })}
                maxLength={200}
                autoComplete="off"
                isRequired
                fault={faults.title}
              />
            )}
          </SessionForm>
        </>
      )}
    </Page>
  );
}
