import { Plus, TriangleAlert } from 'lucide-react';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { asApiError } from '../../data/api.ts';
import { useList } from '../../data/cache.ts';
import { providersQuery, rehearsal } from '../../data/providers.ts';
import type { AgentSessionBody, Team } from '../../data/types.ts';
import { useText } from '../../i18n/Text.tsx';
import type { TextKey } from '../../i18n/locale.ts';
import { Button } from '../../parts/Button.tsx';
import { Checkbox, Select, TextAreaField, TextField } from '../../parts/Field.tsx';
import { bodyOf, faultOf, newAgent, type AgentDraft, type DoneKind, type Draft } from './draft.ts';

interface Props {
  team: Team;
  draft: Draft;
  onChange: (draft: Draft) => void;
  /** Before all else: what a session is and which one. */
  children?: (faults: Readonly<Record<string, string>>) => ReactNode;
  submit: string;
  onSubmit: (body: AgentSessionBody) => Promise<unknown>;
  cancel: ReactNode;
}

interface Refusal {
  message: string;
  faults: Readonly<Record<string, string>>;
}

/** What a session is made of. It keeps its text when it is refused, and says what is wrong where it is. */
export function SessionForm({ team, draft, onChange, children, submit, onSubmit, cancel }: Props) {
  const say = useText();
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const faults = refusal?.faults ?? {};
  const summary = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (refusal) summary.current?.focus();
  }, [refusal]);
  const send = async () => {
    const { body, notNumbers } = bodyOf(draft);
    if (notNumbers.length > 0) {
      setRefusal({
        message: say('app.session.fields'),
        faults: Object.fromEntries(notNumbers.map(field => [field, say('app.session.number')])),
      });
      return;
    }
    setBusy(true);
    try {
      await onSubmit(body);
    } catch (thrown) {
      const { message, fields } = asApiError(thrown);
      const several = Object.keys(fields).length > 0;
      setRefusal({ message: several ? say('app.session.fields') : message, faults: fields });
    } finally {
      setBusy(false);
    }
  };
  const set = (change: Partial<Draft>) => onChange({ ...draft, ...change });
  return (
    <form
      className="form sessionform"
      noValidate
      onSubmit={event => {
        event.preventDefault();
        if (!busy) void send();
      }}
    >
      {refusal && (
        <div ref={summary} className="alert" role="alert" tabIndex={-1}>
          <p>
            <strong>{refusal.message}</strong>
          </p>
          <ul>
            {Object.entries(faults).map(([field, fault]) => (
              <li key={field}>
                {nameOf(field, draft, say)}: {fault}
              </li>
            ))}
          </ul>
        </div>
      )}
      {children?.(faults)}
      <Agents team={team} draft={draft} set={set} faults={faults} />
      <section className="card" aria-labelledby="limits">
        <div className="sec">
          <h2 id="limits">{say('app.session.limits')}</h2>
          <p className="help">{say('app.session.limits.text')}</p>
        </div>
        <div className="sec numbers">
          <TextField
            label={say('app.session.max_rounds')}
            help={say('app.session.max_rounds.help')}
            inputMode="numeric"
            autoComplete="off"
            value={draft.maxRounds}
            onChange={maxRounds => set({ maxRounds })}
            fault={faults.max_rounds}
          />
          {budgetFields.map(([field, label]) => (
            <TextField
              key={field}
              label={say(label)}
              help={say('app.session.budget.help')}
              inputMode="numeric"
              autoComplete="off"
              value={draft.budget[field]}
              onChange={value => set({ budget: { ...draft.budget, [field]: value } })}
              fault={faults[`budget/${field}`]}
            />
          ))}
        </div>
        {draft.type === 'loop' && <Done team={team} draft={draft} set={set} faults={faults} />}
      </section>
      <div className="actions">
        {cancel}
        <Button type="submit" kind="primary" isBusy={busy}>
          {submit}
        </Button>
      </div>
    </form>
  );
}

const budgetFields = [
  ['rounds', 'app.session.budget.rounds'],
  ['tokens', 'app.session.budget.tokens'],
  ['minutes', 'app.session.budget.minutes'],
] as const;

const fieldNames: Record<string, TextKey> = {
  title: 'app.title',
  type: 'app.session.type',
  agents: 'app.session.agents',
  slug: 'app.session.agent.slug',
  instructions: 'app.session.agent.instructions',
  provider: 'app.session.agent.provider',
  model: 'app.session.agent.model',
  tools: 'app.session.agent.tools',
  max_rounds: 'app.session.max_rounds',
  rounds: 'app.session.budget.rounds',
  tokens: 'app.session.budget.tokens',
  minutes: 'app.session.budget.minutes',
  done: 'app.session.done',
};

/** A field of the API as the form calls it: "worker, Instructions". */
function nameOf(field: string, draft: Draft, say: ReturnType<typeof useText>): string {
  const parts = field.split('/');
  const key = parts.toReversed().find(part => part in fieldNames);
  const label = key ? say(fieldNames[key]!) : field;
  if (parts[0] !== 'agents' || parts.length < 2) return label;
  const agent = draft.agents[Number(parts[1])]?.slug.trim();
  return say('app.session.agent.field', { agent: agent || String(Number(parts[1]) + 1), field: label });
}

interface PartProps {
  team: Team;
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  faults: Readonly<Record<string, string>>;
}

const mostAgents = 10;

function Agents({ team, draft, set, faults }: PartProps) {
  const say = useText();
  const change = (key: number, what: Partial<AgentDraft>) =>
    set({ agents: draft.agents.map(agent => (agent.key === key ? { ...agent, ...what } : agent)) });
  const several = draft.type === 'team';
  return (
    <section className="card" aria-labelledby="agents">
      <div className="sec row">
        <div>
          <h2 id="agents">{say('app.session.agents')}</h2>
          <p className="help">{say(several ? 'app.session.agents.team' : 'app.session.agents.one')}</p>
          {faults.agents && <p className="fault">{faults.agents}</p>}
        </div>
        {several && draft.agents.length < mostAgents && (
          <div className="end">
            <Button onPress={() => set({ agents: [...draft.agents, newAgent('')] })}>
              <Plus aria-hidden />
              {say('app.session.agent.add')}
            </Button>
          </div>
        )}
      </div>
      {draft.agents.map((agent, i) => (
        <AgentFields
          key={agent.key}
          team={team}
          agent={agent}
          number={i + 1}
          leads={several && i === 0}
          faults={faults}
          onChange={what => change(agent.key, what)}
          onRemove={
            several && draft.agents.length > 2
              ? () => set({ agents: draft.agents.filter(other => other !== agent) })
              : undefined
          }
        />
      ))}
    </section>
  );
}

interface AgentProps {
  team: Team;
  agent: AgentDraft;
  number: number;
  leads: boolean;
  faults: Readonly<Record<string, string>>;
  onChange: (what: Partial<AgentDraft>) => void;
  onRemove: (() => void) | undefined;
}

function AgentFields({ team, agent, number, leads, faults, onChange, onRemove }: AgentProps) {
  const say = useText();
  const at = (field: string) => faultOf(faults, `agents/${number - 1}/${field}`);
  return (
    <fieldset className="sec stack">
      <legend className="sr">{say('app.session.agent.number', { number })}</legend>
      <div className="two">
        <TextField
          label={say('app.session.agent.slug')}
          help={say(leads ? 'app.session.agent.leads' : 'app.session.agent.slug.help')}
          value={agent.slug}
          onChange={slug => onChange({ slug })}
          autoComplete="off"
          spellCheck="false"
          maxLength={40}
          isRequired
          fault={at('slug')}
        />
        <ProviderField
          team={team}
          value={agent.provider}
          onChange={provider => onChange({ provider })}
          fault={at('provider')}
        />
        {agent.provider !== rehearsal && (
          <TextField
            label={say('app.session.agent.model')}
            help={say('app.session.agent.model.help')}
            value={agent.model}
            onChange={model => onChange({ model })}
            autoComplete="off"
            spellCheck="false"
            fault={at('model')}
          />
        )}
      </div>
      <TextAreaField
        label={say('app.session.agent.instructions')}
        help={say('app.session.agent.instructions.help')}
        rows={3}
        value={agent.instructions}
        onChange={instructions => onChange({ instructions })}
        fault={at('instructions')}
      />
      <Tools chosen={agent.tools} onChange={tools => onChange({ tools })} fault={at('tools')} />
      {onRemove && (
        <div className="row">
          <Button kind="danger" onPress={onRemove} aria-label={say('app.remove.label', { what: agent.slug })}>
            {say('app.session.agent.remove')}
          </Button>
        </div>
      )}
    </fieldset>
  );
}

interface ProviderProps {
  team: Team;
  value: string;
  onChange: (provider: string) => void;
  fault: string | undefined;
}

/** Owners choose from what is set up; everyone else may know a name. */
function ProviderField({ team, value, onChange, fault }: ProviderProps) {
  const say = useText();
  const owner = team.role === 'owner';
  const { items } = useList({ ...providersQuery(team.id), enabled: owner });
  const label = say('app.session.agent.provider');
  if (!owner) {
    return (
      <TextField
        label={label}
        help={say('app.session.agent.provider.help')}
        value={value}
        onChange={onChange}
        autoComplete="off"
        spellCheck="false"
        fault={fault}
      />
    );
  }
  const names = [rehearsal, ...(items?.map(provider => provider.name) ?? [])];
  if (value && !names.includes(value)) names.push(value);
  return (
    <Select
      label={label}
      value={value}
      onChange={onChange}
      fault={fault}
      options={names.map(name => [name, name === rehearsal ? say('app.session.rehearsal') : name] as const)}
    />
  );
}

/** What agents can do at all, as the catalogue of tools has it. */
const tools = [
  ['list_project_resources', 'app.session.tool.list_project_resources'],
  ['list_project_members', 'app.session.tool.list_project_members'],
  ['search', 'app.session.tool.search'],
  ['fetch', 'app.session.tool.fetch'],
  ['list_resource_changes', 'app.session.tool.list_resource_changes'],
  ['read_note', 'app.session.tool.read_note'],
  ['read_note_tab', 'app.session.tool.read_note_tab'],
  ['list_note_versions', 'app.session.tool.list_note_versions'],
  ['read_note_version', 'app.session.tool.read_note_version'],
  ['create_note', 'app.session.tool.create_note'],
  ['add_note_tab', 'app.session.tool.add_note_tab'],
  ['edit_note_tab', 'app.session.tool.edit_note_tab'],
  ['append_note_tab', 'app.session.tool.append_note_tab'],
  ['replace_note_tab', 'app.session.tool.replace_note_tab'],
  ['rename_note', 'app.session.tool.rename_note'],
  ['move_note', 'app.session.tool.move_note'],
  ['archive_note', 'app.session.tool.archive_note'],
  ['restore_note_version', 'app.session.tool.restore_note_version'],
] as const satisfies ReadonlyArray<readonly [string, TextKey]>;

const firstWriting = tools.findIndex(([name]) => name === 'create_note');

interface ToolsProps {
  chosen: string[];
  onChange: (tools: string[]) => void;
  fault: string | undefined;
}

function Tools({ chosen, onChange, fault }: ToolsProps) {
  const say = useText();
  const known = new Set<string>(tools.map(([name]) => name));
  const others = chosen.filter(name => !known.has(name)).map(name => [name, undefined] as const);
  const groups = [
    ['app.session.tools.read', tools.slice(0, firstWriting)],
    ['app.session.tools.write', [...tools.slice(firstWriting), ...others]],
  ] as const;
  return (
    <details className="fold" open={fault !== undefined || undefined}>
      <summary>{say('app.session.agent.tools.count', { n: chosen.length })}</summary>
      {fault && <p className="fault">{fault}</p>}
      <div className="toolgroups">
        {groups.map(([label, group]) => (
          <div key={label} role="group" aria-label={say(label)}>
            <p className="label">{say(label)}</p>
            {group.map(([name, text]) => (
              <Checkbox
                key={name}
                isSelected={chosen.includes(name)}
                onChange={on => onChange(on ? [...chosen, name] : chosen.filter(other => other !== name))}
              >
                {text ? say(text) : name}
              </Checkbox>
            ))}
          </div>
        ))}
      </div>
    </details>
  );
}

const doneKinds = [
  ['none', 'app.session.done.none'],
  ['phrase', 'app.session.done.phrase'],
  ['verdict', 'app.session.done.verdict'],
  ['command', 'app.session.done.command'],
] as const satisfies ReadonlyArray<readonly [DoneKind, TextKey]>;

/** When a loop is done. Only owners can have a command run on the server. */
function Done({ team, draft, set, faults }: PartProps) {
  const say = useText();
  const offered = doneKinds.filter(([kind]) => kind !== 'command' || team.role === 'owner' || draft.done === kind);
  return (
    <div className="sec stack">
      <Select<DoneKind>
        label={say('app.session.done')}
        value={draft.done}
        onChange={done => set({ done })}
        options={offered.map(([kind, text]) => [kind, say(text)] as const)}
        fault={draft.done === 'none' || draft.done === 'verdict' ? faultOf(faults, 'done') : undefined}
      />
      {draft.done === 'phrase' && (
        <TextField
          label={say('app.session.done.phrase.label')}
          value={draft.phrase}
          onChange={phrase => set({ phrase })}
          maxLength={200}
          autoComplete="off"
          isRequired
          fault={faultOf(faults, 'done')}
        />
      )}
      {draft.done === 'command' && (
        <>
          <TextAreaField
            label={say('app.session.done.command.label')}
            help={say('app.session.done.command.help')}
            rows={3}
            value={draft.command}
            onChange={command => set({ command })}
            spellCheck="false"
            fault={faultOf(faults, 'done')}
          />
          <p className="notice warn">
            <TriangleAlert aria-hidden />
            {say('app.session.done.command.warn')}
          </p>
        </>
      )}
    </div>
  );
}
