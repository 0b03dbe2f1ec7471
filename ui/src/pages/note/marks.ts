import type { EditorView } from '@codemirror/view';

// What the buttons of the toolbar do to the text.

/** Puts marks around what is chosen, or takes them away if they are there. */
export function wrap(view: EditorView, before: string, after = before): void {
  const { from, to } = view.state.selection.main;
  const { doc } = view.state;
  const inside = doc.sliceString(from, to);
  if (doc.sliceString(from - before.length, from) === before && doc.sliceString(to, to + after.length) === after) {
    view.dispatch({
      changes: { from: from - before.length, to: to + after.length, insert: inside },
      selection: { anchor: from - before.length, head: to - before.length },
    });
    return;
  }
  view.dispatch({
    changes: { from, to, insert: before + inside + after },
    selection: { anchor: from + before.length, head: to + before.length },
  });
}

/** Puts a mark before each chosen line, or takes it away where all have it. */
export function prefix(view: EditorView, mark: string): void {
  const { from, to } = view.state.selection.main;
  const first = view.state.doc.lineAt(from).number;
  const last = view.state.doc.lineAt(to).number;
  const lines = Array.from({ length: last - first + 1 }, (_, i) => view.state.doc.line(first + i));
  const all = lines.every(line => line.text.startsWith(mark));
  view.dispatch({
    changes: lines.map(line => ({ from: line.from, to: line.from + (all ? mark.length : 0), insert: all ? '' : mark })),
  });
}

/** Puts a block on lines of its own after the one with the cursor. */
export function block(view: EditorView, text: string): void {
  const line = view.state.doc.lineAt(view.state.selection.main.to);
  const insert = `${line.text ? '\n\n' : ''}${text}`;
  view.dispatch({ changes: { from: line.to, insert }, selection: { anchor: line.to + insert.length } });
}
