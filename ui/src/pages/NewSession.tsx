import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Radio, RadioGroup } from 'react-aria-components';
import { useLocation } from 'wouter';
import { useTeam } from '../data/me.ts';
import { projectQuery } from '../data/projects.ts';
import { createSession } from '../data/sessions.ts';
import type { Project, Team } from '../data/types.ts';
import { useText } from '../i18n/Text.tsx';
import type { TextKey } from '../i18n/locale.ts';
import { sessionAddress } from '../parts/addresses.ts';
import { LinkButton } from '../parts/Button.tsx';
import { TextField } from '../parts/Field.tsx';
import { Page } from '../parts/Page.tsx';
import { done } from '../parts/toast.ts';
import { emptyDraft, withType, type Draft } from './session/draft.ts';
import { SessionForm } from './session/Form.tsx';
import { typeIcons, typeNames } from './session/looks.tsx';
import { Unread } from './Unread.tsx';
import './session/session.css';

export function NewSession({ project: id }: { project: string }) {
  const project = useQuery(projectQuery(id));
  const team = useTeam(project.data?.workspace_id);
  return project.data && team ? <Of project={project.data} team={team} /> : <Unread of={project} />;
}

const types = [
  ['agent', 'app.session.type.agent.text'],
  ['team', 'app.session.type.team.text'],
  ['loop', 'app.session.type.loop.text'],
] as const satisfies ReadonlyArray<readonly [Draft['type'], TextKey]>;

function Of({ project, team }: { project: Project; team: Team }) {
  const say = useText();
  const [, navigate] = useLocation();
  const [draft, setDraft] = useState(emptyDraft);
  return (
    <Page
      title={say('app.session.new')}
      crumbs={[
        { text: team.name, to: `/w/${team.id}` },
        { text: project.name, to: `/p/${project.id}` },
      ]}
    >
      {team.role === 'viewer' || project.archived ? (
        <p className="alert">{say(project.archived ? 'app.project.archived' : 'app.session.new.editors')}</p>
      ) : (
        <SessionForm
          team={team}
          draft={draft}
          onChange={setDraft}
          submit={say('app.session.create')}
          onSubmit={async body => {
            const made = await createSession(project.id, body);
            done(say('app.session.created', { session: made.title }));
            navigate(sessionAddress(made.id));
          }}
          cancel={<LinkButton to={`/p/${project.id}`}>{say('app.cancel')}</LinkButton>}
        >
          {faults => (
            <>
              <TextField
                label={say('app.title')}
                value={draft.title}
                onChange={title => setDraft({ ...draft, title })}
                maxLength={200}
                autoComplete="off"
                isRequired
                fault={faults.title}
              />
              <RadioGroup
                className="types"
                aria-label={say('app.session.type')}
                value={draft.type}
                onChange={type => setDraft(withType(draft, type as Draft['type']))}
              >
                {types.map(([type, text]) => {
                  const Icon = typeIcons[type];
                  return (
                    <Radio key={type} value={type}>
                      <Icon aria-hidden />
                      <strong>{say(typeNames[type])}</strong>
                      <span>{say(text)}</span>
                    </Radio>
                  );
                })}
              </RadioGroup>
            </>
          )}
        </SessionForm>
      )}
    </Page>
  );
}
