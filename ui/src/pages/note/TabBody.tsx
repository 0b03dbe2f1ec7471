import { Check, CircleAlert, LoaderCircle, TriangleAlert } from 'lucide-react';
import { lazy, Suspense, useCallback, useEffect, useRef, useState } from 'react';
import { Radio, RadioGroup } from 'react-aria-components';
import { announce } from '../../app/announce.ts';
import { keep, kept } from '../../data/kept.ts';
import { maxTabBytes } from '../../data/notes.ts';
import type { TabText } from '../../data/types.ts';
import { Text, useText } from '../../i18n/Text.tsx';
import { Button } from '../../parts/Button.tsx';
import { Dialog } from '../../parts/Dialog.tsx';
import { Author } from '../../parts/Person.tsx';
import { Loading } from '../../parts/State.tsx';
import { done } from '../../parts/toast.ts';
import { useDraft, type Draft } from './draft.ts';
import type { EditorHandle } from './Editor.tsx';

const Editor = lazy(() => import('./Editor.tsx'));
const Markdown = lazy(() => import('./Markdown.tsx'));
const Diff = lazy(() => import('../../parts/Diff.tsx'));

const views = ['edit', 'read', 'split'] as const;
type View = (typeof views)[number];

/** The text of one tab: to edit, to read, or both. The choice is remembered. */
export function TabBody({ read, mayEdit }: { read: TabText; mayEdit: boolean }) {
  const say = useText();
  const editor = useRef<EditorHandle>(null);
  const replace = useCallback((text: string) => editor.current?.replace(text), []);
  const draft = useDraft(read, replace);
  const [view, setView] = useState<View>(() => views.find(v => v === kept('note.view')) ?? 'edit');
  const shown = mayEdit ? view : 'read';
  const outside = read.updated_by.kind === 'outside_assistant';
  const bytes = new TextEncoder().encode(draft.text).length;
  return (
    <div className={`note ${shown}`}>
      {mayEdit && (
        <div className="row">
          <RadioGroup
            className="seg"
            orientation="horizontal"
            aria-label={say('app.view')}
            value={view}
            onChange={choice => {
              keep('note.view', choice);
              setView(choice as View);
            }}
          >
            {views.map(id => (
              <Radio key={id} value={id} className={id === 'split' ? 'only-wide' : ''}>
                {say(`app.view.${id}`)}
              </Radio>
            ))}
          </RadioGroup>
          <div className="end">
            <State draft={draft} />
          </div>
        </div>
      )}
      {draft.saving === 'conflict' && <Conflict draft={draft} />}
      {bytes > maxTabBytes * 0.9 && (
        <p className="banner">{say(bytes > maxTabBytes ? 'app.note.too_long' : 'app.note.long')}</p>
      )}
      <div className="panes">
        {mayEdit && (
          <div className="pane" hidden={shown === 'read'}>
            <Suspense fallback={<Loading />}>
              <Editor ref={editor} initial={draft.text} readOnly={false} onChange={draft.edit} onSave={draft.saveNow} />
            </Suspense>
          </div>
        )}
        {shown !== 'edit' && (
          <div className="pane">
            <Suspense fallback={<Loading />}>
              {draft.text ? (
                <Markdown text={draft.text} showHosts={outside} outline />
              ) : (
                <p className="muted">{say('app.note.empty')}</p>
              )}
            </Suspense>
          </div>
        )}
      </div>
    </div>
  );
}

function State({ draft }: { draft: Draft }) {
  const say = useText();
  const [dots, text] = {
    saved: [Check, 'app.saved'],
    waiting: [LoaderCircle, 'app.unsaved'],
    saving: [LoaderCircle, 'app.saving'],
    failed: [CircleAlert, 'app.not_saved'],
    conflict: [TriangleAlert, 'app.conflict.short'],
  }[draft.saving] as [typeof Check, 'app.saved'];
  const Icon = dots;
  return (
    <span className="saving" role="status" data-saving={draft.saving}>
      <Icon aria-hidden />
      {say(text)}
      {draft.saving === 'failed' && (
        <>
          <span className="muted">{draft.problem}</span>
          <Button onPress={draft.saveNow}>{say('app.again')}</Button>
        </>
      )}
    </span>
  );
}

/** Someone else wrote meanwhile. Nothing is lost until the person has chosen. */
function Conflict({ draft }: { draft: Draft }) {
  const say = useText();
  const [open, setOpen] = useState(false);
  const { theirs } = draft;
  useEffect(() => {
    if (theirs) announce(say('app.conflict.said', { person: theirs.updated_by.name }), true);
  }, [theirs, say]);
  if (!theirs) return null;
  const act = (what: () => void) => () => {
    setOpen(false);
    what();
  };
  const mergeBoth = act(() => {
    const overlaps = draft.mergeBoth();
    done(overlaps ? say('app.conflict.merged.overlaps', { n: overlaps }) : say('app.conflict.merged'));
  });
  const buttons = (
    <>
      <Button onPress={act(draft.keepMine)}>{say('app.conflict.mine')}</Button>
      <Button onPress={act(draft.takeTheirs)}>{say('app.conflict.theirs')}</Button>
      <Button onPress={mergeBoth}>{say('app.conflict.merge')}</Button>
    </>
  );
  return (
    <section className="banner" aria-label={say('app.conflict.short')}>
      <TriangleAlert aria-hidden />
      <p>
        <Text of="app.conflict" who={<Author by={theirs.updated_by} />} />
      </p>
      <Button onPress={() => setOpen(true)}>{say('app.conflict.both')}</Button>
      {buttons}
      <Dialog isOpen={open} onClose={() => setOpen(false)} title={say('app.conflict.title')} large>
        <Suspense fallback={<Loading />}>
          <h3>
            <Text of="app.conflict.by" who={<Author by={theirs.updated_by} />} />
          </h3>
          <Diff before={draft.base} after={theirs.markdown} label={say('app.conflict.theirs.diff')} />
          <h3>{say('app.conflict.by_you')}</h3>
          <Diff before={draft.base} after={draft.text} label={say('app.conflict.by_you')} />
        </Suspense>
        <div className="actions">
          <Button onPress={() => setOpen(false)}>{say('app.close')}</Button>
          {buttons}
        </div>
      </Dialog>
    </section>
  );
}
