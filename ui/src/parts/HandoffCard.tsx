import { Bot, CircleCheck, CircleX, TriangleAlert, Undo2, type LucideIcon } from 'lucide-react';
import { useId, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { Label, TextArea, TextField } from 'react-aria-components';
import { Link, useLocation } from 'wouter';
import { lettersOff } from '../app/keys.ts';
import { asApiError } from '../data/api.ts';
import { decide, readAgain, type Decision } from '../data/handoffs.ts';
import { useMe } from '../data/me.ts';
import { setSignedOut } from '../data/signedout.ts';
import type { Handoff } from '../data/types.ts';
import { Text, useText } from '../i18n/Text.tsx';
import { taskAddress } from './addresses.ts';
import { AssistantTile, Badge, OutsideBadge, type Tone } from './Badge.tsx';
import { Button } from './Button.tsx';
import { done, failed } from './toast.ts';
import { Ago, clean, Name } from './words.tsx';

interface Props {
  handoff: Handoff;
  /** Whether this person may decide; who may not sees what is asked, and no buttons. */
  mayDecide: boolean;
  /** Between whose and when, in the line under the name: the seat, where a page knows it. */
  meta?: ReactNode;
}

/**
 * What an outside assistant asks for, with all that is needed to decide, and the
 * decision. Once it is decided the outcome stands where the buttons were. What
 * somebody types as the reason stays, whatever is pushed meanwhile.
 */
export function HandoffCard({ handoff, mayDecide, meta }: Props) {
  const say = useText();
  const heading = useId();
  const card = useRef<HTMLElement>(null);
  const fold = useRef<HTMLDetailsElement>(null);
  const deciding = useDeciding(handoff, card);
  const pending = handoff.state === 'pending';
  const press = (event: KeyboardEvent<HTMLElement>) => {
    if (event.target !== card.current || event.ctrlKey || event.metaKey || event.altKey || lettersOff()) return;
    const key = event.key.toLowerCase();
    if (key === 'o') fold.current!.open = !fold.current!.open;
    else if (key === 'j' || key === 'k') neighbour(card.current, key === 'j')?.focus();
    else if (pending && mayDecide && key === 'a') deciding.acceptByKey();
    else if (pending && mayDecide && key === 'd') deciding.setDeclining(true);
    else return;
    event.preventDefault();
  };
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- keys of the focused card; each has a button
    <article
      ref={card}
      className={pending ? 'card handoff' : 'card handoff decided'}
      aria-labelledby={heading}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- J, K, O, A and D act on the focused card
      tabIndex={0}
      data-handoff={handoff.id}
      onKeyDown={press}
      onBlur={() => deciding.arm(false)}
    >
      <div className="sec stack">
        <div className="from">
          <AssistantTile />
          <div>
            <div className="title">
              <strong>
                <Name>{handoff.connection.name}</Name>
              </strong>
              <OutsideBadge />
            </div>
            <div className="meta">
              {handoff.connection.host && <span className="mono">{handoff.connection.host}</span>}
              {handoff.connection.approver.name && (
                <span>
                  <Text of="app.handoff.connected_by" person={<Name>{handoff.connection.approver.name}</Name>} />
                </span>
              )}
              {meta}
              <span>
                <Ago at={handoff.created_at} />
              </span>
              {pending && handoff.expires_at && (
                <span>
                  <Text of="app.handoff.expires" when={<Ago at={handoff.expires_at} />} />
                </span>
              )}
            </div>
          </div>
        </div>
        <h3 id={heading} className="goal" dir="auto">
          {clean(handoff.goal)}
        </h3>
        <details className="fold" ref={fold}>
          <summary>{say('app.handoff.context')}</summary>
          <div className="said">
            <Part title={say('app.handoff.context.title')} text={handoff.context_summary} />
            <Part title={say('app.handoff.output')} text={handoff.requested_output} />
            <Agents handoff={handoff} />
          </div>
        </details>
        {pending && handoff.agents.some(agent => agent.kind === 'command') && (
          <p className="notice warn">
            <TriangleAlert aria-hidden />
            {say('app.handoff.command')}
          </p>
        )}
      </div>
      <div className="sec foot">
        {deciding.isDeclining ? (
          <Declining handoff={handoff} deciding={deciding} />
        ) : pending ? (
          <>
            <p className="muted small">
              {deciding.isArmed ? (
                <strong role="status">{say('app.handoff.again')}</strong>
              ) : (
                <Text of="app.handoff.rounds" n={handoff.max_rounds} />
              )}
            </p>
            {mayDecide ? (
              <div className="acts">
                <Button onPress={() => deciding.setDeclining(true)} isDisabled={deciding.isBusy}>
                  {say('app.handoff.decline')}
                </Button>
                <Button
                  kind="primary"
                  onPress={() => void deciding.send({ decision: 'accept' })}
                  isBusy={deciding.isBusy}
                >
                  {say('app.handoff.accept')}
                </Button>
              </div>
            ) : (
              <p className="muted small">{say('app.handoff.not_yours')}</p>
            )}
          </>
        ) : (
          <HandoffOutcome handoff={handoff} />
        )}
        {deciding.fault && (
          <p className="alert" role="alert">
            {deciding.fault}
          </p>
        )}
      </div>
    </article>
  );
}

/** The card after, or before, this one on the page. */
function neighbour(card: HTMLElement | null, after: boolean): HTMLElement | undefined {
  const cards = [...document.querySelectorAll<HTMLElement>('[data-handoff]')];
  return cards[cards.indexOf(card!) + (after ? 1 : -1)];
}

type Deciding = ReturnType<typeof useDeciding>;

function useDeciding(handoff: Handoff, card: React.RefObject<HTMLElement | null>) {
  const say = useText();
  const [, navigate] = useLocation();
  const [isBusy, setBusy] = useState(false);
  const [isDeclining, setDeclining] = useState(false);
  const [isArmed, arm] = useState(false);
  const [fault, setFault] = useState('');

  const view = ({ task_id: task }: Handoff) =>
    task ? { text: say('app.handoff.view'), act: () => navigate(taskAddress(handoff.session_id, task)) } : undefined;

  const taken = (now: Handoff) => {
    const person = now.decided_by?.name;
    if (!person) return say('app.handoff.taken.gone');
    return say(now.state === 'accepted' ? 'app.handoff.taken.accepted' : 'app.handoff.taken.declined', { person });
  };

  const refused = async (thrown: unknown) => {
    const error = asApiError(thrown);
    switch (error.code) {
      case 'already_decided': {
        const now = await readAgain(handoff.session_id, handoff.id);
        failed(taken(now), view(now));
        break;
      }
      case 'changed':
        await readAgain(handoff.session_id, handoff.id);
        setFault(say('app.handoff.changed'));
        break;
      case 'sign_in_again':
        setFault(error.message);
        setSignedOut(true);
        break;
      default:
        setFault(error.message);
    }
  };

  const send = async (decision: Decision) => {
    if (isBusy) return;
    setBusy(true);
    setFault('');
    arm(false);
    try {
      const decided = await decide(handoff, decision);
      setDeclining(false);
      if (decided.state === 'accepted') done(say('app.handoff.accepted'), view(decided));
      else done(say('app.handoff.declined'));
    } catch (thrown) {
      await refused(thrown).catch(() => setFault(asApiError(thrown).message));
    } finally {
      setBusy(false);
      // The pressed button is gone, or will be; the focus stays on the request.
      card.current?.focus({ preventScroll: true });
    }
  };

  const acceptByKey = () => (isArmed ? void send({ decision: 'accept' }) : arm(true));
  return { isBusy, isDeclining, isArmed, fault, send, setDeclining, arm, acceptByKey };
}

/** The reason is optional, and the assistant reads it. */
function Declining({ handoff, deciding }: { handoff: Handoff; deciding: Deciding }) {
  const say = useText();
  const [reason, setReason] = useState('');
  const taken = handoff.state !== 'pending';
  return (
    <form
      className="form"
      onSubmit={event => {
        event.preventDefault();
        void deciding.send({ decision: 'decline', ...(reason.trim() && { reason: reason.trim() }) });
      }}
    >
      {taken && <HandoffOutcome handoff={handoff} />}
      <TextField className="field" value={reason} onChange={setReason} maxLength={1000} autoFocus>
        <Label>{say('app.handoff.reason')}</Label>
        <TextArea className="input" rows={2} dir="auto" />
        <p className="help">
          <Text of="app.handoff.reason.help" client={<Name>{handoff.connection.name}</Name>} />
        </p>
      </TextField>
      <div className="actions">
        <Button onPress={() => deciding.setDeclining(false)}>{say(taken ? 'app.close' : 'app.cancel')}</Button>
        {!taken && (
          <Button type="submit" kind="danger" isBusy={deciding.isBusy}>
            {say('app.handoff.decline.submit')}
          </Button>
        )}
      </div>
    </form>
  );
}

function Part({ title, text }: { title: string; text: string }) {
  const say = useText();
  return (
    <div>
      <h4>{title}</h4>
      <p dir="auto">{clean(text).trim() || say('app.handoff.nothing_said')}</p>
    </div>
  );
}

/** Who does the work, which is part of what is accepted. */
function Agents({ handoff }: { handoff: Handoff }) {
  const say = useText();
  return (
    <div>
      <h4>{say('app.handoff.agents')}</h4>
      <ul>
        {handoff.agents.map(agent => (
          <li key={agent.slug} className="meta">
            <Bot aria-hidden />
            <span>
              <Name>{agent.slug}</Name>
            </span>
            <span>
              <Name>{agent.model ? `${agent.provider}, ${agent.model}` : agent.provider}</Name>
            </span>
            {agent.tools.length > 0 && <span>{agent.tools.join(', ')}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}

const looks: Record<Exclude<Handoff['state'], 'pending'>, [Tone, LucideIcon]> = {
  accepted: ['ok', CircleCheck],
  declined: ['bad', CircleX],
  cancelled: ['plain', Undo2],
};

/** How a handoff was decided, by whom and when, and the work that came of it. */
export function HandoffOutcome({ handoff }: { handoff: Handoff }) {
  const say = useText();
  const me = useMe();
  if (handoff.state === 'pending') return null;
  const [tone, icon] = looks[handoff.state];
  const expired = handoff.state === 'cancelled' && handoff.reason === 'expired';
  const byMe = handoff.decided_by?.id === me.id;
  return (
    <div className="outcome" role="status">
      <Badge tone={tone} icon={icon}>
        {say(expired ? 'app.handoff.state.expired' : `app.handoff.state.${handoff.state}`)}
      </Badge>
      <span className="meta">
        <span>
          {handoff.decided_by ? (
            <Text
              of={`app.handoff.${handoff.state === 'accepted' ? 'accepted' : 'declined'}.${byMe ? 'you' : 'other'}`}
              person={<Name>{handoff.decided_by.name}</Name>}
            />
          ) : expired ? (
            say('app.handoff.nobody')
          ) : (
            <Text of="app.handoff.withdrawn" client={<Name>{handoff.connection.name}</Name>} />
          )}
        </span>
        {handoff.decided_at && (
          <span>
            <Ago at={handoff.decided_at} />
          </span>
        )}
        {handoff.task_id && (
          <Link href={taskAddress(handoff.session_id, handoff.task_id)}>{say('app.handoff.view')}</Link>
        )}
      </span>
      {handoff.decided_by && handoff.reason && (
        <blockquote dir="auto" className="small">
          {clean(handoff.reason)}
        </blockquote>
      )}
    </div>
  );
}
