import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import {
  defineLanguageFacet,
  HighlightStyle,
  Language,
  languageDataProp,
  syntaxHighlighting,
} from '@codemirror/language';
import { search, searchKeymap } from '@codemirror/search';
import { EditorState, Transaction } from '@codemirror/state';
import { drawSelection, EditorView, keymap, placeholder } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { GFM, parser } from '@lezer/markdown';
import { Bold, Code, Heading, Italic, Link, List, ListTodo, Table, type LucideIcon } from 'lucide-react';
import { useEffect, useImperativeHandle, useRef, type Ref } from 'react';
import { Toolbar } from 'react-aria-components';
import { useText } from '../../i18n/Text.tsx';
import type { TextKey } from '../../i18n/locale.ts';
import { Button } from '../../parts/Button.tsx';
import { block, prefix, wrap } from './marks.ts';

// @lezer/markdown alone: the package of CodeMirror would bring grammars of three more languages.
const facet = defineLanguageFacet({ commentTokens: { block: { open: '<!--', close: '-->' } } });
const markdown = new Language(
  facet,
  parser.configure([GFM, { props: [languageDataProp.add({ Document: facet })] }]),
  [],
  'markdown',
);

const colours = HighlightStyle.define([
  { tag: tags.heading1, fontSize: '1.375rem', fontWeight: '600' },
  { tag: tags.heading2, fontSize: '1.125rem', fontWeight: '600' },
  { tag: [tags.heading3, tags.heading4, tags.heading5, tags.heading6], fontWeight: '600' },
  { tag: tags.strong, fontWeight: '600' },
  { tag: tags.emphasis, fontStyle: 'italic' },
  { tag: tags.strikethrough, textDecoration: 'line-through' },
  { tag: [tags.link, tags.url], color: 'var(--c-accent-text)' },
  { tag: tags.monospace, fontFamily: 'var(--font-mono)', fontSize: '.93em', backgroundColor: 'var(--c-subtle)' },
  { tag: tags.quote, color: 'var(--c-text-2)' },
  { tag: [tags.processingInstruction, tags.contentSeparator], color: 'var(--c-text-3)' },
]);

// CodeMirror makes style sheets in the browser; the answer's nonce lets it.
const nonce = document.querySelector<HTMLElement>('meta[property=csp-nonce]')?.nonce ?? '';

export interface EditorHandle {
  /** Puts another text in place; the cursor stays where it is in what both have. */
  replace: (text: string) => void;
}

interface Props {
  initial: string;
  readOnly: boolean;
  onChange: (text: string) => void;
  onSave: () => void;
  ref: Ref<EditorHandle>;
}

const tools: ReadonlyArray<readonly [TextKey, LucideIcon, (view: EditorView) => void]> = [
  ['app.editor.heading', Heading, view => prefix(view, '## ')],
  ['app.editor.bold', Bold, view => wrap(view, '**')],
  ['app.editor.italic', Italic, view => wrap(view, '_')],
  ['app.editor.list', List, view => prefix(view, '- ')],
  ['app.editor.task', ListTodo, view => prefix(view, '- [ ] ')],
  ['app.editor.link', Link, view => wrap(view, '[', '](https://)')],
  ['app.editor.table', Table, view => block(view, '| A | B |\n| --- | --- |\n|  |  |\n')],
  ['app.editor.code', Code, view => wrap(view, '`')],
];

/** Markdown as it is written, byte for byte. Tab leaves it. */
export default function Editor({ initial, readOnly, onChange, onSave, ref }: Props) {
  const say = useText();
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const told = useRef({ onChange, onSave });
  useEffect(() => {
    told.current = { onChange, onSave };
  });
  useImperativeHandle(ref, () => ({ replace: text => view.current && replaceText(view.current, text) }), []);
  const label = say('app.editor.label');
  const empty = say('app.editor.empty');
  useEffect(() => {
    const save = () => {
      told.current.onSave();
      return true;
    };
    const made = new EditorView({
      parent: box.current!,
      state: EditorState.create({
        doc: initial,
        extensions: [
          EditorView.cspNonce.of(nonce),
          EditorState.lineSeparator.of('\n'), // others stay in the text as they are
          EditorState.readOnly.of(readOnly),
          EditorView.editable.of(!readOnly),
          history(),
          drawSelection(),
          search({ top: true }),
          keymap.of([
            { key: 'Mod-s', run: save, preventDefault: true },
            { key: 'Mod-b', run: v => (wrap(v, '**'), true) },
            { key: 'Mod-i', run: v => (wrap(v, '_'), true) },
            ...searchKeymap,
            ...defaultKeymap,
            ...historyKeymap,
          ]),
          markdown,
          syntaxHighlighting(colours),
          EditorView.lineWrapping,
          placeholder(empty),
          EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'true', dir: 'auto' }),
          EditorView.domEventHandlers({ blur: () => void told.current.onSave() }),
          EditorView.updateListener.of(update => {
            const own = update.transactions.some(t => t.docChanged && !t.annotation(Transaction.remote));
            if (own) told.current.onChange(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
    // oxlint-disable-next-line react/exhaustive-deps -- the editor keeps its own text
  }, [readOnly, label, empty]);
  return (
    <>
      {!readOnly && (
        <Toolbar className="toolbar" aria-label={say('app.editor.tools')}>
          {tools.map(([text, Icon, act]) => (
            <Button
              key={text}
              kind="quiet"
              icon
              aria-label={say(text)}
              onPress={() => {
                if (!view.current) return;
                act(view.current);
                view.current.focus();
              }}
            >
              <Icon aria-hidden />
            </Button>
          ))}
        </Toolbar>
      )}
      <div ref={box} className="editor" />
    </>
  );
}

/** Changes only what differs, so that cursor and scroll stay where they are. */
function replaceText(view: EditorView, text: string) {
  const old = view.state.doc.toString();
  if (old === text) return;
  let from = 0;
  while (from < old.length && from < text.length && old[from] === text[from]) from++;
  let end = 0;
  while (
    end < old.length - from &&
    end < text.length - from &&
    old[old.length - 1 - end] === text[text.length - 1 - end]
  )
    end++;
  view.dispatch({
    changes: { from, to: old.length - end, insert: text.slice(from, text.length - end) },
    annotations: [Transaction.remote.of(true), Transaction.addToHistory.of(false)],
  });
}
