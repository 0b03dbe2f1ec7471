import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { useSearchParams } from 'wouter';
import { asApiError } from '../../data/api.ts';
import { useList } from '../../data/cache.ts';
import { restoreVersion, versionQuery, versionsQuery } from '../../data/notes.ts';
import type { TabText, TabVersion } from '../../data/types.ts';
import { Text, useText } from '../../i18n/Text.tsx';
import { Badge } from '../../parts/Badge.tsx';
import { Button } from '../../parts/Button.tsx';
import { More } from '../../parts/More.tsx';
import { Author } from '../../parts/Person.tsx';
import { Loaded, LoadedList, Loading } from '../../parts/State.tsx';
import { done, failed } from '../../parts/toast.ts';
import { Ago } from '../../parts/words.tsx';

const Diff = lazy(() => import('../../parts/Diff.tsx'));

interface Props {
  note: string;
  current: TabText;
  mayRestore: boolean;
}

/** The versions of a tab, and what is different now from the one that is chosen. */
export function History({ note, current, mayRestore }: Props) {
  const say = useText();
  const [search, setSearch] = useSearchParams();
  const list = useList(versionsQuery(note, current.id));
  return (
    <LoadedList of={list} rows={4}>
      {versions => {
        const chosen = Number(search.get('history')) || (versions[1]?.version ?? current.version);
        return (
          <div className="history">
            <div>
              <h2 className="small muted">{say('app.history.versions')}</h2>
              <ol className="versions">
                {versions.map(version => (
                  <li key={version.version}>
                    <button
                      type="button"
                      aria-current={version.version === chosen ? 'true' : undefined}
                      onClick={() =>
                        setSearch(new URLSearchParams({ history: String(version.version) }), { replace: true })
                      }
                    >
                      <span className="row">
                        {say('app.history.version', { n: version.version })}
                        {version.version === current.version && <Badge>{say('app.history.now')}</Badge>}
                      </span>
                      <span className="small muted">
                        <Author by={version.created_by} /> · <Ago at={version.created_at} />
                      </span>
                    </button>
                  </li>
                ))}
              </ol>
              <More of={list} />
            </div>
            <Shown
              key={chosen}
              note={note}
              current={current}
              version={versions.find(v => v.version === chosen)}
              number={chosen}
              mayRestore={mayRestore}
            />
          </div>
        );
      }}
    </LoadedList>
  );
}

interface ShownProps extends Props {
  version: TabVersion | undefined;
  number: number;
}

function Shown({ note, current, version, number, mayRestore }: ShownProps) {
  const say = useText();
  const text = useQuery(versionQuery(note, current.id, number));
  const restore = async () => {
    const before = current.version;
    try {
      const restored = await restoreVersion(note, current.id, number, before);
      done(say('app.history.restored', { n: number }), {
        text: say('app.undo'),
        act: () =>
          void restoreVersion(note, current.id, before, restored.version).catch(thrown =>
            failed(asApiError(thrown).message),
          ),
      });
    } catch (thrown) {
      failed(asApiError(thrown).message);
    }
  };
  return (
    <section className="section" aria-labelledby="shown">
      <div className="row">
        <h2 id="shown">
          {number === current.version
            ? say('app.history.version', { n: number })
            : say('app.history.since', { n: number })}
        </h2>
        {mayRestore && number !== current.version && (
          <div className="end">
            <Button onPress={() => void restore()}>{say('app.history.restore', { n: number })}</Button>
          </div>
        )}
      </div>
      {version && (
        <p className="small muted">
          <Text of="app.note.changed" who={<Author by={version.created_by} />} when={<Ago at={version.created_at} />} />
        </p>
      )}
      <Loaded of={text}>
        {read => (
          <Suspense fallback={<Loading />}>
            <Diff before={read.markdown ?? ''} after={current.markdown} label={say('app.history.diff')} />
          </Suspense>
        )}
      </Loaded>
    </section>
  );
}
