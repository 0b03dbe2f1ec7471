import { rehearsal } from '../../data/providers.ts';
import type { Agent, AgentSession, AgentSessionBody, Budget, DoneCondition } from '../../data/types.ts';

/** An agent as somebody writes it down; the key is the row's and is never sent. */
export interface AgentDraft {
  key: number;
  slug: string;
  instructions: string;
  provider: string;
  model: string;
  tools: string[];
}

export type DoneKind = 'none' | 'phrase' | 'verdict' | 'command';

/** A session as somebody writes it down: numbers are still text. */
export interface Draft {
  type: AgentSession['type'];
  title: string;
  agents: AgentDraft[];
  maxRounds: string;
  budget: { rounds: string; tokens: string; minutes: string };
  done: DoneKind;
  phrase: string;
  /** One part of the argument vector a line. */
  command: string;
}

/** Tools that read are ticked at first; what writes is somebody's own choice. */
export const readingTools = ['list_project_resources', 'read_note', 'read_note_tab', 'search'];

let nextKey = 1;

export const newAgent = (slug: string): AgentDraft => ({
  key: nextKey++,
  slug,
  instructions: '',
  provider: rehearsal,
  model: '',
  tools: readingTools,
});

export const emptyDraft = (): Draft => ({
  type: 'agent',
  title: '',
  agents: [newAgent('worker')],
  maxRounds: '10',
  budget: { rounds: '', tokens: '', minutes: '' },
  done: 'none',
  phrase: '',
  command: '',
});

const numeral = (value: number | undefined) => (value ? String(value) : '');

export function draftOf(session: AgentSession): Draft {
  const { budget, done } = session;
  return {
    type: session.type,
    title: session.title,
    agents: session.agents.map(agent => ({
      key: nextKey++,
      slug: agent.slug,
      instructions: agent.instructions,
      provider: agent.provider,
      model: agent.model ?? '',
      tools: agent.tools ?? [],
    })),
    maxRounds: String(session.max_rounds),
    budget: { rounds: numeral(budget.rounds), tokens: numeral(budget.tokens), minutes: numeral(budget.minutes) },
    done: done.phrase ? 'phrase' : done.verdict ? 'verdict' : done.command ? 'command' : 'none',
    phrase: done.phrase ?? '',
    command: done.command?.join('\n') ?? '',
  };
}

/** The draft for another type: a team has two agents at least, all others one. */
export function withType(draft: Draft, type: Draft['type']): Draft {
  const [first = newAgent('worker'), second = newAgent('checker')] = draft.agents;
  const agents = type !== 'team' ? [first] : draft.agents.length > 1 ? draft.agents : [first, second];
  return { ...draft, type, agents, done: type === 'loop' ? draft.done : 'none' };
}

/** What is sent; faults are of numbers that are none. All else is the server's to judge. */
export function bodyOf(draft: Draft): { body: AgentSessionBody; notNumbers: string[] } {
  const notNumbers: string[] = [];
  const numberOf = (field: string, text: string): number | undefined => {
    const trimmed = text.trim();
    if (trimmed === '') return undefined;
    const value = Number(trimmed);
    if (Number.isInteger(value)) return value;
    notNumbers.push(field);
    return undefined;
  };
  const budget: Budget = {
    rounds: numberOf('budget/rounds', draft.budget.rounds) ?? 0,
    tokens: numberOf('budget/tokens', draft.budget.tokens) ?? 0,
    minutes: numberOf('budget/minutes', draft.budget.minutes) ?? 0,
  };
  const maxRounds = numberOf('max_rounds', draft.maxRounds);
  return {
    notNumbers,
    body: {
      type: draft.type,
      title: draft.title.trim(),
      agents: draft.agents.map(agentOf),
      budget,
      done: doneOf(draft),
      ...(maxRounds !== undefined && { max_rounds: maxRounds }),
    },
  };
}

const agentOf = ({ slug, instructions, provider, model, tools }: AgentDraft): Agent => ({
  slug: slug.trim(),
  instructions,
  provider: provider.trim(),
  ...(model.trim() && { model: model.trim() }),
  tools,
});

function doneOf({ type, done, phrase, command }: Draft): DoneCondition {
  if (type !== 'loop' || done === 'none') return {};
  if (done === 'verdict') return { verdict: true };
  if (done === 'phrase') return { phrase: phrase.trim() };
  return {
    command: command
      .split('\n')
      .map(part => part.trim())
      .filter(Boolean),
  };
}

/** The first fault of the field or of anything in it. */
export function faultOf(faults: Readonly<Record<string, string>>, field: string): string | undefined {
  return faults[field] ?? Object.entries(faults).find(([name]) => name.startsWith(`${field}/`))?.[1];
}
