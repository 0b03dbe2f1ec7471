import {
  Archive,
  Bot,
  CircleCheck,
  CircleDashed,
  CirclePause,
  CircleStop,
  CircleX,
  Clock,
  LoaderCircle,
  Repeat,
  Users,
  type LucideIcon,
} from 'lucide-react';
import type { AgentSession, Round, Task } from '../../data/types.ts';
import { useText } from '../../i18n/Text.tsx';
import type { TextKey } from '../../i18n/locale.ts';
import { Badge, type Tone } from '../../parts/Badge.tsx';

// How types and states look: an icon, a word, and a tone that says nothing more.

type Type = AgentSession['type'];

export const typeIcons: Record<Type, LucideIcon> = { agent: Bot, team: Users, loop: Repeat };

export const typeNames = {
  agent: 'app.session.type.agent',
  team: 'app.session.type.team',
  loop: 'app.session.type.loop',
} as const satisfies Record<Type, TextKey>;

export function TypeBadge({ type }: { type: Type }) {
  const say = useText();
  return <Badge icon={typeIcons[type]}>{say(typeNames[type])}</Badge>;
}

const sessionStates = {
  idle: ['plain', CircleDashed, 'app.session.state.idle'],
  queued: ['plain', Clock, 'app.task.state.queued'],
  running: ['info', LoaderCircle, 'app.task.state.running'],
  waiting: ['warn', CirclePause, 'app.task.state.waiting'],
  archived: ['plain', Archive, 'app.session.state.archived'],
} as const satisfies Record<AgentSession['state'], [Tone, LucideIcon, TextKey]>;

export function SessionState({ state }: { state: AgentSession['state'] }) {
  const say = useText();
  const [tone, icon, text] = sessionStates[state];
  return (
    <Badge tone={tone} icon={icon}>
      {say(text)}
    </Badge>
  );
}

const taskStates = {
  queued: ['plain', Clock, 'app.task.state.queued'],
  running: ['info', LoaderCircle, 'app.task.state.running'],
  waiting: ['warn', CirclePause, 'app.task.state.waiting'],
  succeeded: ['ok', CircleCheck, 'app.task.state.succeeded'],
  failed: ['bad', CircleX, 'app.task.state.failed'],
  stopped: ['plain', CircleStop, 'app.task.state.stopped'],
} as const satisfies Record<Task['state'], [Tone, LucideIcon, TextKey]>;

export function TaskState({ state }: { state: Task['state'] }) {
  const say = useText();
  const [tone, icon, text] = taskStates[state];
  return (
    <Badge tone={tone} icon={icon}>
      {say(text)}
    </Badge>
  );
}

export const roundStates = {
  queued: [CircleDashed, 'app.round.state.queued'],
  running: [LoaderCircle, 'app.task.state.running'],
  done: [CircleCheck, 'app.task.state.succeeded'],
  failed: [CircleX, 'app.task.state.failed'],
  stopped: [CircleStop, 'app.task.state.stopped'],
} as const satisfies Record<Round['state'], [LucideIcon, TextKey]>;

/** The round that a task is in, or the last it had. */
export const roundOf = ({ state, rounds_done, max_rounds }: Task) =>
  Math.min(rounds_done + (state === 'running' ? 1 : 0), max_rounds);

/** Whether the task can still change by itself. */
export const isOpen = (task: Task) => ['queued', 'running', 'waiting'].includes(task.state);

/** A goal in one line; the rest of it stands on the task's own page. */
export const firstLine = (goal: string) => goal.trim().split('\n', 1)[0]!;

/** Why a task ended, for people: the server puts a word for programs before it. */
export const reasonIn = (reason: string) => reason.replace(/^[a-z_]+: /, '');
