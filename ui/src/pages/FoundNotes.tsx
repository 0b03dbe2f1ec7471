import { FileText } from 'lucide-react';
import { Link } from 'wouter';
import { useAsked } from '../app/asked.ts';
import { useList } from '../data/cache.ts';
import { foundNotesQuery } from '../data/notes.ts';
import { useText } from '../i18n/Text.tsx';
import { More } from '../parts/More.tsx';
import { LoadedList } from '../parts/State.tsx';
import { Ago, Name } from '../parts/words.tsx';

/** The notes with these words in their texts. */
export function FoundNotes({ workspace, asked: typed }: { workspace: string; asked: string }) {
  const say = useText();
  const asked = useAsked(typed);
  const list = useList({ ...foundNotesQuery(workspace, asked), enabled: asked !== '', staleTime: 0 });
  if (asked === '') return null;
  return (
    <section className="section" aria-labelledby="in-notes">
      <h2 id="in-notes">{say('app.search.in_notes')}</h2>
      <LoadedList of={list}>
        {items =>
          items.length === 0 ? (
            <p className="muted">{say('app.search.in_notes.none')}</p>
          ) : (
            <ul className="card list">
              {items.map(found => (
                <li key={found.note_id} className="linked">
                  <FileText aria-hidden />
                  <div className="what">
                    <span className="title">
                      <Link
                        className="over"
                        href={`/p/${found.project_id}/notes/${found.note_id}${found.tab_id ? `/${found.tab_id}` : ''}`}
                      >
                        <Name>{found.title}</Name>
                      </Link>
                    </span>
                    <span className="meta">
                      <span>
                        <Name>{found.snippet}</Name>
                      </span>
                      <span>
                        <Ago at={found.updated_at} />
                      </span>
                    </span>
                  </div>
                </li>
              ))}
            </ul>
          )
        }
      </LoadedList>
      <More of={list} />
    </section>
  );
}
