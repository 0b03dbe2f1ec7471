import { useQuery } from '@tanstack/react-query';
import { Cpu, KeyRound, Plus, TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import { useList } from '../data/cache.ts';
import { useTeam } from '../data/me.ts';
import { changeFigures, deleteProvider, figuresQuery, providersQuery, putProvider } from '../data/providers.ts';
import type { Figures, Provider, ProviderBody, Team } from '../data/types.ts';
import { Text, useText } from '../i18n/Text.tsx';
import type { TextKey } from '../i18n/locale.ts';
import { ApiError } from '../data/api.ts';
import { Badge } from '../parts/Badge.tsx';
import { Button } from '../parts/Button.tsx';
import { FormDialog } from '../parts/Dialog.tsx';
import { Checkbox, Select, TextAreaField, TextField } from '../parts/Field.tsx';
import { MenuItem, MoreMenu } from '../parts/Menu.tsx';
import { More } from '../parts/More.tsx';
import { Page } from '../parts/Page.tsx';
import { Empty, Failure, Loaded, LoadedList } from '../parts/State.tsx';
import { done } from '../parts/toast.ts';
import { Ago, Name } from '../parts/words.tsx';

/** What the agents of a workspace work with, and how much of it. */
export function Runtime({ workspace }: { workspace: string }) {
  const say = useText();
  const team = useTeam(workspace);
  if (team) return <Of team={team} />;
  return (
    <Page title={say('app.not_found.title')}>
      <Failure error={new ApiError(404, 'not_found', say('app.not_found'))} />
    </Page>
  );
}

function Of({ team }: { team: Team }) {
  const say = useText();
  const owner = team.role === 'owner';
  return (
    <Page title={say('app.runtime')} crumbs={[{ text: team.name, to: `/w/${team.id}` }]} meta={say('app.runtime.text')}>
      {owner ? <Providers team={team} /> : <Failure error={new ApiError(403, 'forbidden', say('app.denied'))} />}
      <Limits team={team} mayChange={owner} />
    </Page>
  );
}

type Kind = Provider['kind'];

const kinds = [
  ['openai', 'app.provider.kind.openai'],
  ['anthropic', 'app.provider.kind.anthropic'],
  ['command', 'app.provider.kind.command'],
] as const satisfies ReadonlyArray<readonly [Kind, TextKey]>;

function Providers({ team }: { team: Team }) {
  const say = useText();
  const list = useList(providersQuery(team.id));
  const [asked, ask] = useState<{ what: 'new' } | { what: 'change' | 'remove'; provider: Provider }>();
  const close = () => ask(undefined);
  const chosen = asked && 'provider' in asked ? asked.provider : undefined;
  const add = (
    <Button kind="primary" onPress={() => ask({ what: 'new' })}>
      <Plus aria-hidden />
      {say('app.provider.new')}
    </Button>
  );
  return (
    <section className="card" aria-labelledby="providers">
      <div className="sec row">
        <div>
          <h2 id="providers">{say('app.providers')}</h2>
          <p className="help">{say('app.providers.text')}</p>
        </div>
        {(list.items?.length ?? 0) > 0 && <div className="end">{add}</div>}
      </div>
      <LoadedList of={list}>
        {items =>
          items.length === 0 ? (
            <div className="sec">
              <Empty icon={Cpu} title={say('app.providers.none')} action={add}>
                {say('app.providers.none.text')}
              </Empty>
            </div>
          ) : (
            <ul className="list">
              {items.map(provider => (
                <Row
                  key={provider.name}
                  provider={provider}
                  onChange={() => ask({ what: 'change', provider })}
                  onRemove={() => ask({ what: 'remove', provider })}
                />
              ))}
            </ul>
          )
        }
      </LoadedList>
      <More of={list} />
      {asked && asked.what !== 'remove' && <Edit team={team} provider={chosen} onClose={close} />}
      <FormDialog
        isOpen={asked?.what === 'remove'}
        onClose={close}
        danger
        title={say('app.remove.what', { what: chosen?.name ?? '' })}
        submit={say('app.provider.remove')}
        onSubmit={async () => {
          await deleteProvider(team.id, chosen!.name);
          done(say('app.provider.removed', { provider: chosen!.name }));
        }}
      >
        <p>{say('app.provider.remove.text')}</p>
      </FormDialog>
    </section>
  );
}

interface RowProps {
  provider: Provider;
  onChange: () => void;
  onRemove: () => void;
}

function Row({ provider, onChange, onRemove }: RowProps) {
  const say = useText();
  return (
    <li>
      <Cpu aria-hidden />
      <div className="what">
        <span className="title">
          <Name>{provider.name}</Name>
          {provider.has_key && <Badge icon={KeyRound}>{say('app.provider.has_key')}</Badge>}
        </span>
        <span className="meta">
          <span>{say(kinds.find(([kind]) => kind === provider.kind)![1])}</span>
          {provider.base_url && <span className="mono">{provider.base_url}</span>}
          {provider.command && <span className="mono">{provider.command.join(' ')}</span>}
          {provider.model && <Name>{provider.model}</Name>}
          <span>
            <Text of="app.changed" when={<Ago at={provider.updated_at} />} />
          </span>
        </span>
      </div>
      <div className="acts">
        <Button onPress={onChange} aria-label={say('app.provider.change.label', { provider: provider.name })}>
          {say('app.provider.change')}
        </Button>
        <MoreMenu label={say('app.more_actions', { what: provider.name })}>
          <MenuItem danger onAction={onRemove}>
            {say('app.provider.remove.ask')}
          </MenuItem>
        </MoreMenu>
      </div>
    </li>
  );
}

interface EditProps {
  team: Team;
  provider: Provider | undefined;
  onClose: () => void;
}

/** The key is written and never read: an empty field keeps the one that is there. */
function Edit({ team, provider, onClose }: EditProps) {
  const say = useText();
  const [kind, setKind] = useState<Kind>(provider?.kind ?? 'openai');
  const [forget, setForget] = useState(false);
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={provider ? say('app.provider.change.label', { provider: provider.name }) : say('app.provider.new')}
      submit={say('app.provider.save')}
      onSubmit={async form => {
        const name = provider?.name ?? String(form.get('name')).trim();
        if (name === '') {
          const fault = say('app.provider.name.missing');
          throw new ApiError(422, 'invalid_arguments', fault, { fields: { name: fault } });
        }
        await putProvider(team.id, name, bodyOf(kind, form, forget));
        done(say('app.provider.saved', { provider: name }));
      }}
    >
      {faults => (
        <>
          {!provider && (
            <TextField
              label={say('app.name')}
              name="name"
              help={say('app.provider.name.help')}
              autoFocus
              autoComplete="off"
              spellCheck="false"
              maxLength={40}
              isRequired
              fault={faults.name}
            />
          )}
          <Select
            label={say('app.provider.kind')}
            value={kind}
            onChange={setKind}
            options={kinds.map(([id, text]) => [id, say(text)] as const)}
            fault={faults.kind}
          />
          {kind === 'command' ? (
            <>
              <TextAreaField
                label={say('app.provider.command')}
                help={say('app.provider.command.help')}
                name="command"
                rows={3}
                defaultValue={provider?.command?.join('\n') ?? ''}
                spellCheck="false"
                fault={Object.entries(faults).find(([field]) => field.startsWith('command'))?.[1]}
              />
              <p className="notice warn">
                <TriangleAlert aria-hidden />
                {say('app.provider.command.warn')}
              </p>
            </>
          ) : (
            <>
              <TextField
                label={say('app.provider.base_url')}
                name="base_url"
                help={say('app.provider.base_url.help')}
                inputMode="url"
                autoComplete="off"
                defaultValue={provider?.base_url ?? ''}
                fault={faults.base_url}
              />
              <TextField
                label={say('app.session.agent.model')}
                name="model"
                help={say('app.provider.model.help')}
                autoComplete="off"
                spellCheck="false"
                defaultValue={provider?.model ?? ''}
                fault={faults.model}
              />
              <TextField
                label={say('app.provider.key')}
                name="key"
                type="password"
                help={say(provider?.has_key ? 'app.provider.key.kept' : 'app.provider.key.help')}
                autoComplete="off"
                isDisabled={forget}
                fault={faults.key}
              />
              {provider?.has_key && (
                <Checkbox isSelected={forget} onChange={setForget}>
                  {say('app.provider.key.forget')}
                </Checkbox>
              )}
            </>
          )}
        </>
      )}
    </FormDialog>
  );
}

function bodyOf(kind: Kind, form: FormData, forget: boolean): ProviderBody {
  const text = (name: string) => String(form.get(name) ?? '').trim();
  if (kind === 'command') {
    const parts = text('command').split('\n');
    return { kind, command: parts.map(part => part.trim()).filter(Boolean) };
  }
  const key = text('key');
  return {
    kind,
    ...(text('base_url') && { base_url: text('base_url') }),
    ...(text('model') && { model: text('model') }),
    ...(forget ? { key: '' } : key && { key }),
  };
}

function Limits({ team, mayChange }: { team: Team; mayChange: boolean }) {
  const figures = useQuery(figuresQuery(team.id));
  return (
    <Loaded of={figures} rows={2}>
      {data => <Shown team={team} figures={data} mayChange={mayChange} />}
    </Loaded>
  );
}

const numbers = [
  ['rounds', 'app.session.budget.rounds'],
  ['tokens', 'app.session.budget.tokens'],
  ['minutes', 'app.session.budget.minutes'],
] as const;

function Shown({ team, figures, mayChange }: { team: Team; figures: Figures; mayChange: boolean }) {
  const say = useText();
  const [asked, ask] = useState(false);
  return (
    <section className="card" aria-labelledby="limits">
      <div className="sec row">
        <div>
          <h2 id="limits">{say('app.session.limits')}</h2>
          <p className="help">{say('app.runtime.limits.text')}</p>
        </div>
        {mayChange && (
          <div className="end">
            <Button onPress={() => ask(true)}>{say('app.runtime.limits.change')}</Button>
          </div>
        )}
      </div>
      <dl className="sec facts">
        {numbers.map(([field, label]) => (
          <div key={field}>
            <dt>{say(label)}</dt>
            <dd>
              {figures.budget[field] ? say('app.number', { n: figures.budget[field] }) : say('app.session.budget.none')}
            </dd>
          </div>
        ))}
        <div>
          <dt>{say('app.runtime.handoff')}</dt>
          <dd>
            {figures.handoff_minutes
              ? say('app.session.minutes', { n: figures.handoff_minutes })
              : say('app.runtime.handoff.never')}
          </dd>
        </div>
      </dl>
      <FormDialog
        isOpen={asked}
        onClose={() => ask(false)}
        title={say('app.runtime.limits.change')}
        submit={say('app.runtime.limits.save')}
        onSubmit={async form => {
          const faults: Record<string, string> = {};
          const numberOf = (name: string) => {
            const value = Number(String(form.get(name) ?? '').trim() || 0);
            if (!Number.isInteger(value)) faults[name] = say('app.session.number');
            return value;
          };
          const change = {
            budget: { rounds: numberOf('rounds'), tokens: numberOf('tokens'), minutes: numberOf('minutes') },
            handoff_minutes: numberOf('handoff_minutes'),
          };
          if (Object.keys(faults).length > 0)
            throw new ApiError(422, 'invalid_arguments', say('app.session.fields'), { fields: faults });
          await changeFigures(team.id, change);
          done(say('app.runtime.limits.saved'));
        }}
      >
        {faults => (
          <>
            {numbers.map(([field, label]) => (
              <TextField
                key={field}
                label={say(label)}
                name={field}
                help={say('app.session.budget.help')}
                inputMode="numeric"
                autoComplete="off"
                defaultValue={figures.budget[field] ? String(figures.budget[field]) : ''}
                fault={faults[field] ?? faults[`budget/${field}`]}
              />
            ))}
            <TextField
              label={say('app.runtime.handoff')}
              name="handoff_minutes"
              help={say('app.runtime.handoff.help')}
              inputMode="numeric"
              autoComplete="off"
              defaultValue={figures.handoff_minutes ? String(figures.handoff_minutes) : ''}
              fault={faults.handoff_minutes}
            />
          </>
        )}
      </FormDialog>
    </section>
  );
}
