import { Inbox } from 'lucide-react';
import { Link, useSearchParams } from 'wouter';
import { useList } from '../data/cache.ts';
import { recentQuery, waitingQuery } from '../data/handoffs.ts';
import { useTeam } from '../data/me.ts';
import { projectsQuery } from '../data/projects.ts';
import type { Handoff, Team } from '../data/types.ts';
import { useText } from '../i18n/Text.tsx';
import { byName } from '../i18n/time.ts';
import { sessionAddress } from '../parts/addresses.ts';
import { AssistantTile, Badge } from '../parts/Badge.tsx';
import { Select } from '../parts/Field.tsx';
import { HandoffCard, HandoffOutcome } from '../parts/HandoffCard.tsx';
import { More } from '../parts/More.tsx';
import { Page } from '../parts/Page.tsx';
import { Empty, LoadedList, Nothing } from '../parts/State.tsx';
import { Name } from '../parts/words.tsx';
import { NotFound } from './NotFound.tsx';

export function Approvals({ workspace: id }: { workspace: string }) {
  const workspace = useTeam(id);
  return workspace ? <Of workspace={workspace} /> : <NotFound />;
}

/** What waits for this person in all sessions of the workspace, and what was decided of late. */
function Of({ workspace }: { workspace: Team }) {
  const say = useText();
  const [search, setSearch] = useSearchParams();
  const project = search.get('project') ?? '';
  const waiting = useList(waitingQuery(workspace.id));
  const n = waiting.items?.filter(handoff => handoff.state === 'pending').length ?? 0;
  const names = new Map(useList(projectsQuery(workspace.id)).items?.map(one => [one.id, one.name]));
  const choose = (chosen: string) => setSearch(chosen ? { project: chosen } : {}, { replace: true });
  return (
    <Page
      title={say('app.approvals')}
      documentTitle={[n > 0 ? say('app.approvals.title', { n }) : say('app.approvals')]}
      crumbs={[{ text: workspace.name, to: `/w/${workspace.id}` }]}
      meta={<span>{say('app.approvals.text')}</span>}
    >
      <LoadedList of={waiting}>
        {items => (
          <>
            <Filter items={items} names={names} project={project} choose={choose} />
            <Groups items={items} names={names} project={project} clear={() => choose('')} />
            <More of={waiting} />
            <Earlier workspace={workspace.id} shown={items} project={project} />
          </>
        )}
      </LoadedList>
    </Page>
  );
}

interface Narrowed {
  items: Handoff[];
  names: Map<string, string>;
  project: string;
}

/** By project, where requests of more than one wait. */
function Filter({ items, names, project, choose }: Narrowed & { choose: (project: string) => void }) {
  const say = useText();
  const projects = [...new Set([...items.map(handoff => handoff.project_id), ...(project ? [project] : [])])]
    .map(id => ({ id, name: names.get(id) ?? id }))
    .toSorted(byName);
  if (projects.length < 2 && !project) return null;
  return (
    <div className="filters">
      <Select
        label={say('app.project')}
        value={project}
        onChange={choose}
        options={[['', say('app.project.any')], ...projects.map(({ id, name }) => [id, name] as const)]}
      />
    </div>
  );
}

/** By session, the oldest request first: who waited longest comes first. */
function Groups({ items, names, project, clear }: Narrowed & { clear: () => void }) {
  const say = useText();
  const sessions = new Map<string, Handoff[]>();
  for (const handoff of items.toReversed()) {
    if (project && handoff.project_id !== project) continue;
    sessions.set(handoff.session_id, [...(sessions.get(handoff.session_id) ?? []), handoff]);
  }
  if (sessions.size === 0) {
    return (
      <div className="card">
        {project ? (
          <Nothing clear={clear} />
        ) : (
          <Empty icon={Inbox} title={say('app.approvals.none')}>
            {say('app.approvals.none.text')}
          </Empty>
        )}
      </div>
    );
  }
  return [...sessions].map(([id, handoffs]) => (
    <section className="section" key={id} aria-labelledby={`session-${id}`}>
      <div className="row">
        <h2 id={`session-${id}`}>
          <Link href={sessionAddress(id, 'handoffs')}>
            <Name>{handoffs[0]!.session_title}</Name>
          </Link>
        </h2>
        <Waiting n={handoffs.filter(handoff => handoff.state === 'pending').length} />
        <span className="muted small">
          <Name>{names.get(handoffs[0]!.project_id) ?? ''}</Name>
        </span>
      </div>
      {handoffs.map(handoff => (
        <HandoffCard key={handoff.id} handoff={handoff} mayDecide />
      ))}
    </section>
  ));
}

function Waiting({ n }: { n: number }) {
  const say = useText();
  return n > 0 && <Badge tone="warn">{say('app.waiting', { n })}</Badge>;
}

const shownEarlier = 20;

/** What was decided, or not in time. */
function Earlier({ workspace, shown, project }: { workspace: string; shown: Handoff[]; project: string }) {
  const say = useText();
  const cards = new Set(shown.map(handoff => handoff.id));
  const { items } = useList(recentQuery(workspace));
  const earlier = items?.filter(
    ({ id, state, project_id }) => state !== 'pending' && !cards.has(id) && (!project || project_id === project),
  );
  if (!earlier?.length) return null;
  return (
    <section className="section" aria-labelledby="earlier">
      <h2 id="earlier">{say('app.handoff.earlier')}</h2>
      <ul className="card list">
        {earlier.slice(0, shownEarlier).map(handoff => (
          <li key={handoff.id}>
            <AssistantTile />
            <div className="what">
              <span className="title">
                <Link href={sessionAddress(handoff.session_id, 'handoffs')}>
                  <Name>{handoff.goal}</Name>
                </Link>
              </span>
              <HandoffOutcome handoff={handoff} />
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
