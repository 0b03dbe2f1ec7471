import { Search as SearchIcon } from 'lucide-react';
import { useState } from 'react';
import { useFilter } from 'react-aria-components';
import { Link, useSearchParams } from 'wouter';
import { usePlace } from '../app/place.ts';
import { useThings, type Thing } from '../app/things.ts';
import { useText } from '../i18n/Text.tsx';
import { TextField } from '../parts/Field.tsx';
import { Page } from '../parts/Page.tsx';
import { Empty } from '../parts/State.tsx';
import { clean, Name } from '../parts/words.tsx';
import { FoundNotes } from './FoundNotes.tsx';

const most = 100;

/** Finds by name. What is asked for is in the address. */
export function SearchPage() {
  const say = useText();
  const { workspace } = usePlace();
  const [search, setSearch] = useSearchParams();
  const [text, setText] = useState(search.get('q') ?? '');
  const { contains } = useFilter({ sensitivity: 'base' });
  const things = useThings(workspace);
  const asked = text.trim();
  const found = asked === '' ? [] : things.filter(thing => contains(thing.text, asked));
  return (
    <Page
      title={say('app.search.title')}
      crumbs={workspace ? [{ text: workspace.name, to: `/w/${workspace.id}` }] : []}
    >
      <search className="stack prose-width">
        <TextField
          label={say('app.search.for')}
          help={say('app.search.help')}
          type="search"
          value={text}
          onChange={next => {
            setText(next);
            setSearch(next.trim() ? { q: next.trim() } : {}, { replace: true });
          }}
        />
      </search>
      <p className="muted small" role="status">
        {asked !== '' && say('app.search.found', { n: found.length })}
      </p>
      <Results found={found} asked={asked} />
      {workspace && <FoundNotes workspace={workspace.id} asked={asked} />}
    </Page>
  );
}

function Results({ found, asked }: { found: Thing[]; asked: string }) {
  const say = useText();
  if (found.length === 0) {
    return (
      <div className="card">
        <Empty
          icon={SearchIcon}
          title={asked === '' ? say('app.search.start') : say('app.search.none', { text: clean(asked) })}
        />
      </div>
    );
  }
  return (
    <ul className="card list">
      {found.slice(0, most).map(({ key, icon: Icon, text, where, to }) => (
        <li key={key} className="linked">
          <Icon aria-hidden />
          <div className="what">
            <span className="title">
              <Link className="over" href={to}>
                <Name>{text}</Name>
              </Link>
            </span>
            {where && (
              <span className="meta">
                <span>
                  <Name>{where}</Name>
                </span>
              </span>
            )}
          </div>
        </li>
      ))}
    </ul>
  );
}
