import { Plug } from 'lucide-react';
import { useId, useState } from 'react';
import { Radio, RadioGroup } from 'react-aria-components';
import { Link } from 'wouter';
import { asApiError } from '../../data/api.ts';
import { useList } from '../../data/cache.ts';
import { connectionsQuery, projectConnectionsQuery } from '../../data/connections.ts';
import { seatsQuery, setSeat, type SeatName } from '../../data/seats.ts';
import type { AgentSession, Connection, Project, Seat, Team } from '../../data/types.ts';
import { useText } from '../../i18n/Text.tsx';
import type { TextKey } from '../../i18n/locale.ts';
import { AssistantTile, OutsideBadge, StatusBadge } from '../../parts/Badge.tsx';
import { LinkButton } from '../../parts/Button.tsx';
import { More } from '../../parts/More.tsx';
import { Empty, LoadedList } from '../../parts/State.tsx';
import { done, failed } from '../../parts/toast.ts';
import { Name } from '../../parts/words.tsx';
import { ConnectionMeta } from '../Assistants.tsx';
import type { Rights } from '../SessionPage.tsx';
import { seatNames } from './seatnames.ts';

interface Props {
  session: AgentSession;
  project: Project | undefined;
  team: Team;
  rights: Rights;
}

const help = [
  ['observer', 'app.seat.observer.help'],
  ['contributor', 'app.seat.contributor.help'],
  ['runner', 'app.seat.runner.help'],
] as const satisfies ReadonlyArray<readonly [SeatName, TextKey]>;

/** Which outside assistants have a seat here, and what each seat allows. */
export function Connected({ session, project, team, rights }: Props) {
  const say = useText();
  const inside = useList(projectConnectionsQuery(session.project_id));
  const everywhere = useList(connectionsQuery(team.id));
  const seats = useList(seatsQuery(session.id));
  const others = everywhere.items?.filter(
    connection => connection.status !== 'revoked' && !connection.projects.some(p => p.id === session.project_id),
  );
  const access = `/p/${session.project_id}/access`;
  return (
    <>
      <section className="card" aria-labelledby="seats">
        <div className="sec">
          <h2 id="seats">{say('app.seats')}</h2>
          <p className="help">{say('app.seats.text')}</p>
        </div>
        {session.local_only && <p className="sec banner">{say('app.seats.local_only')}</p>}
        <LoadedList of={seats} rows={2}>
          {seated => (
            <LoadedList of={inside} rows={2}>
              {connections =>
                connections.length === 0 ? (
                  <div className="sec">
                    <Empty
                      icon={Plug}
                      title={say('app.seats.none')}
                      action={
                        team.role !== 'viewer' && <LinkButton to={access}>{say('app.seats.none.add')}</LinkButton>
                      }
                    >
                      {say('app.seats.none.text')}
                    </Empty>
                  </div>
                ) : (
                  <ul className="list seats">
                    {connections.map(connection => (
                      <Row
                        key={connection.id}
                        session={session}
                        connection={connection}
                        seat={seated.find(seat => seat.connection_id === connection.id)}
                        log={team.role === 'owner' ? `${access}/log?connection=${connection.id}` : undefined}
                        mayGive={rights.manage && connection.status !== 'revoked'}
                      />
                    ))}
                  </ul>
                )
              }
            </LoadedList>
          )}
        </LoadedList>
        <More of={inside} />
        <dl className="sec facts">
          {help.map(([seat, text]) => (
            <div key={seat}>
              <dt>
                <strong>{say(seatNames[seat])}</strong>
              </dt>
              <dd className="muted">{say(text)}</dd>
            </div>
          ))}
        </dl>
        {!rights.manage && <p className="sec help">{say('app.seats.owners')}</p>}
      </section>
      {(others?.length ?? 0) > 0 && (
        <section className="card" aria-labelledby="others">
          <div className="sec row">
            <div>
              <h2 id="others">{say('app.access.outside')}</h2>
              <p className="help">{say('app.seats.not_in_project')}</p>
            </div>
            {project && (
              <div className="end">
                <LinkButton to={access}>{say('app.seats.none.add')}</LinkButton>
              </div>
            )}
          </div>
          <ul className="list">
            {others!.map(connection => (
              <li key={connection.id}>
                <AssistantTile />
                <Who connection={connection} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function Who({ connection }: { connection: Connection }) {
  return (
    <div className="what">
      <span className="title">
        <Link href={`/w/${connection.workspace_id}/assistants/${connection.id}`}>
          <Name>{connection.name}</Name>
        </Link>
        <OutsideBadge />
        {connection.status !== 'active' && <StatusBadge status={connection.status} />}
      </span>
      <ConnectionMeta connection={connection} />
    </div>
  );
}

interface RowProps {
  session: AgentSession;
  connection: Connection;
  seat: Seat | undefined;
  /** Where its calls in the project are, for who may read them. */
  log: string | undefined;
  mayGive: boolean;
}

type Choice = SeatName | 'none';

const given = {
  observer: 'app.seat.given.observer',
  contributor: 'app.seat.given.contributor',
  runner: 'app.seat.given.runner',
} as const satisfies Record<SeatName, TextKey>;

function Row({ session, connection, seat, log, mayGive }: RowProps) {
  const say = useText();
  const [wanted, want] = useState<Choice>();
  const now: Choice = (seat?.seat as SeatName | undefined) ?? 'none';
  const client = connection.name;
  const give = async (choice: Choice, undo?: Choice) => {
    want(choice);
    try {
      await setSeat(session.id, connection.id, choice);
      const said =
        choice === 'none'
          ? say('app.seat.taken', { client, session: session.title })
          : say(given[choice], { client, session: session.title });
      done(said, undo && { text: say('app.undo'), act: () => void give(undo) });
    } catch (thrown) {
      const error = asApiError(thrown);
      failed(error.code === 'not_in_project' ? say('app.seats.left_project', { client }) : error.message);
    } finally {
      want(undefined);
    }
  };
  return (
    <li>
      <AssistantTile />
      <Who connection={connection} />
      <div className="acts">
        {log && (
          <LinkButton kind="quiet" to={log} aria-label={say('app.seat.calls.label', { client })}>
            {say('app.seat.calls')}
          </LinkButton>
        )}
        {mayGive ? (
          <SeatControl
            label={say('app.seat.of', { client })}
            value={wanted ?? now}
            onChange={choice => void give(choice, now)}
          />
        ) : (
          <span>{say(now === 'none' ? 'app.seat.none' : seatNames[now])}</span>
        )}
      </div>
    </li>
  );
}

const choices = [
  ['none', 'app.seat.none'],
  ['observer', seatNames.observer],
  ['contributor', seatNames.contributor],
  ['runner', seatNames.runner],
] as const satisfies ReadonlyArray<readonly [Choice, TextKey]>;

interface ControlProps {
  label: string;
  value: Choice;
  onChange: (choice: Choice) => void;
}

/** All seats side by side; on a phone a choice as the browser draws it. */
function SeatControl({ label, value, onChange }: ControlProps) {
  const say = useText();
  const id = useId();
  const choose = (choice: string) => choice !== value && onChange(choice as Choice);
  return (
    <>
      <RadioGroup className="seg only-wide" aria-label={label} orientation="horizontal" value={value} onChange={choose}>
        {choices.map(([seat, text]) => (
          <Radio key={seat} value={seat}>
            {say(text)}
          </Radio>
        ))}
      </RadioGroup>
      <span className="only-narrow">
        <label htmlFor={id} className="sr">
          {label}
        </label>
        <select id={id} className="input" value={value} onChange={event => choose(event.target.value)}>
          {choices.map(([seat, text]) => (
            <option key={seat} value={seat}>
              {say(text)}
            </option>
          ))}
        </select>
      </span>
    </>
  );
}
