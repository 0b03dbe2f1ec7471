import { Bot, Mail as MailIcon, Plug, SquarePen, Users } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { useSearchParams } from 'wouter';
import { useList } from '../../data/cache.ts';
import { mailQuery, writeMail } from '../../data/mail.ts';
import type { AgentSession, Correspondent, Mail as MailType } from '../../data/types.ts';
import { clean } from '../../i18n/format.ts';
import { Text, useText } from '../../i18n/Text.tsx';
import { AssistantTile, Badge } from '../../parts/Badge.tsx';
import { Button } from '../../parts/Button.tsx';
import { FormDialog } from '../../parts/Dialog.tsx';
import { Select, TextAreaField, TextField } from '../../parts/Field.tsx';
import { More } from '../../parts/More.tsx';
import { PersonTile } from '../../parts/Person.tsx';
import { Empty, Loading, LoadedList, Nothing } from '../../parts/State.tsx';
import { done } from '../../parts/toast.ts';
import { Ago, Name } from '../../parts/words.tsx';
import type { Rights } from '../SessionPage.tsx';

const Markdown = lazy(() => import('../note/Markdown.tsx'));

type Filter = '' | 'person' | 'agent' | 'connection';

/** The mail between agents, people and outside assistants. It starts nothing. */
export function Mail({ session, rights }: { session: AgentSession; rights: Rights }) {
  const say = useText();
  const [search, setSearch] = useSearchParams();
  const [writing, setWriting] = useState<Writing>();
  const filter = (search.get('from') ?? '') as Filter;
  const list = useList(mailQuery(session.id));
  const filterBy = (from: Filter) =>
    setSearch(from ? new URLSearchParams({ from }) : new URLSearchParams(), { replace: true });
  const write = rights.edit ? (
    <Button onPress={() => setWriting({})}>
      <SquarePen aria-hidden />
      {say('app.mail.write')}
    </Button>
  ) : undefined;
  return (
    <>
      <LoadedList of={list} rows={4}>
        {items => {
          if (items.length === 0) {
            return (
              <div className="card">
                <Empty icon={MailIcon} title={say('app.mail.none')} action={write}>
                  {say('app.mail.none.text')}
                </Empty>
              </div>
            );
          }
          const shown = items.filter(mail => !filter || mail.from.kind === filter);
          return (
            <>
              <div className="filters">
                <Select<Filter>
                  label={say('app.mail.from')}
                  value={filter}
                  onChange={filterBy}
                  options={[
                    ['', say('app.mail.from.all')],
                    ['person', say('app.mail.from.people')],
                    ['agent', say('app.mail.from.agents')],
                    ['connection', say('app.mail.from.outside')],
                  ]}
                />
                <div className="push">{write}</div>
              </div>
              {shown.length === 0 ? (
                <Nothing clear={() => filterBy('')} />
              ) : (
                <ul className="card mails">
                  {shown.map(mail => (
                    <Letter
                      key={mail.id}
                      mail={mail}
                      about={items.find(other => other.id === mail.reply_to_id)}
                      onReply={
                        rights.edit && mail.from.kind === 'agent'
                          ? () => setWriting({ to: mail.from.slug, subject: mail.subject })
                          : undefined
                      }
                    />
                  ))}
                </ul>
              )}
              <More of={list} />
              <p className="help">{say('app.mail.starts_nothing')}</p>
            </>
          );
        }}
      </LoadedList>
      <Compose session={session} writing={writing} onClose={() => setWriting(undefined)} />
    </>
  );
}

interface Writing {
  to?: string | undefined;
  subject?: string;
}

function Tile({ of: who }: { of: Correspondent }) {
  if (who.kind === 'connection') return <AssistantTile />;
  if (who.kind === 'person') return <PersonTile name={who.name ?? ''} />;
  return (
    <span className="tile" aria-hidden>
      {who.kind === 'team' ? <Users /> : <Bot />}
    </span>
  );
}

/** A name; an outside assistant's has its label, which the server gives by its kind. */
function Who({ of: who }: { of: Correspondent }) {
  const say = useText();
  return (
    <span className="author">
      <Name>{who.name ?? who.slug ?? ''}</Name>
      {who.kind === 'connection' && (
        <Badge tone="out" icon={Plug}>
          {say('app.mail.outside')}
        </Badge>
      )}
    </span>
  );
}

interface LetterProps {
  mail: MailType;
  /** What it answers, where that is on the page. */
  about: MailType | undefined;
  onReply: (() => void) | undefined;
}

/** One message: who, to whom and about what; unfolded, all of it. */
function Letter({ mail, about, onReply }: LetterProps) {
  const say = useText();
  const [open, setOpen] = useState(false);
  return (
    <li>
      <details className="mail" onToggle={event => setOpen(event.currentTarget.open)}>
        <summary>
          <Tile of={mail.from} />
          <span className="what">
            <span className="title">
              <strong>
                <Who of={mail.from} />
              </strong>
              <span className="muted small">
                {mail.to.kind === 'team' ? (
                  say('app.mail.to.team')
                ) : (
                  <Text of="app.mail.to" who={<Who of={mail.to} />} />
                )}
              </span>
              {mail.internal && <Badge>{say('app.mail.internal')}</Badge>}
            </span>
            <span className="line" dir="auto">
              <span className="subject">{clean(mail.subject)}</span>{' '}
              <span className="muted">{clean(mail.body).replace(/\s+/g, ' ').slice(0, 200)}</span>
            </span>
          </span>
          <span className="small muted">
            <Ago at={mail.created_at} />
          </span>
        </summary>
        {open && (
          <div className="letter">
            {about && (
              <p className="small muted">
                <Text of="app.mail.answers" subject={<Name>{about.subject}</Name>} />
              </p>
            )}
            <Suspense fallback={<Loading rows={1} />}>
              <Markdown text={mail.body} showHosts={mail.from.kind !== 'person'} />
            </Suspense>
            {mail.from.kind === 'connection' && <p className="help">{say('app.mail.starts_nothing')}</p>}
            {mail.internal && <p className="help">{say('app.mail.internal.help')}</p>}
            {onReply && (
              <div className="row">
                <Button onPress={onReply}>{say('app.mail.reply')}</Button>
              </div>
            )}
          </div>
        )}
      </details>
    </li>
  );
}

interface ComposeProps {
  session: AgentSession;
  writing: Writing | undefined;
  onClose: () => void;
}

function Compose({ session, writing, onClose }: ComposeProps) {
  const say = useText();
  return (
    <FormDialog
      isOpen={writing !== undefined}
      onClose={onClose}
      title={say('app.mail.write')}
      submit={say('app.mail.send')}
      onSubmit={async form => {
        const to = String(form.get('to'));
        await writeMail(session.id, {
          ...(to && { to_agent: to }),
          subject: String(form.get('subject')),
          body: String(form.get('body')),
        });
        done(say('app.mail.sent'));
      }}
    >
      {faults => (
        <>
          <Select
            label={say('app.mail.to.label')}
            name="to"
            defaultValue={writing?.to ?? ''}
            options={[['', say('app.mail.team')], ...session.agents.map(agent => [agent.slug, agent.slug] as const)]}
            fault={faults.to_agent}
          />
          <TextField
            label={say('app.mail.subject')}
            name="subject"
            defaultValue={writing?.subject ?? ''}
            maxLength={200}
            autoFocus
            isRequired
            autoComplete="off"
            fault={faults.subject}
          />
          <TextAreaField
            label={say('app.mail.body')}
            help={say('app.mail.starts_nothing')}
            name="body"
            rows={5}
            maxLength={10_000}
            isRequired
            fault={faults.body}
          />
        </>
      )}
    </FormDialog>
  );
}
