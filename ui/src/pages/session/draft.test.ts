import { expect, test } from 'vitest';
import { bodyOf, emptyDraft, faultOf, withType } from './draft.ts';

test('a team has two agents at least, and keeps those that it has', () => {
  const team = withType(emptyDraft(), 'team');
  expect(team.agents.map(agent => agent.slug)).toEqual(['worker', 'checker']);
  expect(withType(team, 'loop').agents).toEqual([team.agents[0]]);
});

test('only a loop has a done-condition', () => {
  const draft = { ...emptyDraft(), type: 'loop' as const, done: 'phrase' as const, phrase: ' ALL DONE ' };
  expect(bodyOf(draft).body.done).toEqual({ phrase: 'ALL DONE' });
  expect(bodyOf(withType(draft, 'agent')).body.done).toEqual({});
});

test('a command is one part a line', () => {
  const draft = {
    ...emptyDraft(),
    type: 'loop' as const,
    done: 'command' as const,
    command: '/usr/bin/test\n -f \n\n',
  };
  expect(bodyOf(draft).body.done).toEqual({ command: ['/usr/bin/test', '-f'] });
});

test('what is no whole number is named, and 0 is sent for nothing', () => {
  const draft = { ...emptyDraft(), maxRounds: 'ten', budget: { rounds: '', tokens: '1.5', minutes: '20' } };
  const { body, notNumbers } = bodyOf(draft);
  expect(notNumbers.toSorted()).toEqual(['budget/tokens', 'max_rounds']);
  expect(body.budget).toEqual({ rounds: 0, tokens: 0, minutes: 20 });
});

test('a fault deep in a field is the field’s', () => {
  expect(faultOf({ 'agents/0/tools/3': 'is listed twice' }, 'agents/0/tools')).toBe('is listed twice');
  expect(faultOf({ 'agents/10/slug': 'x' }, 'agents/1')).toBeUndefined();
});
