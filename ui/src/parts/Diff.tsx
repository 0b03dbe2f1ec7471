import { diffLines } from 'diff';
import { useText } from '../i18n/Text.tsx';
import { clean } from '../i18n/format.ts';

/** Lines of both texts, each with the number it has in the text it is of. */
function rowsOf(before: string, after: string) {
  let old = 0;
  let now = 0;
  return diffLines(before, after).flatMap(part =>
    part.value
      .replace(/\n$/, '')
      .split('\n')
      .map(line => {
        const kind = part.added ? 'added' : part.removed ? 'removed' : 'same';
        if (!part.added) old++;
        if (!part.removed) now++;
        return { key: `${kind} ${old} ${now}`, kind, number: part.removed ? old : now, line };
      }),
  );
}

/** What changed from one text to the other: lines with their numbers, − and +. */
export default function Diff({ before, after, label }: { before: string; after: string; label: string }) {
  const say = useText();
  if (before === after) return <p className="muted">{say('app.diff.same')}</p>;
  return (
    <section className="diff" aria-label={label} tabIndex={0}>
      {rowsOf(before, after).map(row => (
        <div key={row.key} className={row.kind}>
          <span className="number">{row.number}</span>
          <Sign kind={row.kind} />
          <span dir="auto">{clean(row.line)}</span>
        </div>
      ))}
    </section>
  );
}

function Sign({ kind }: { kind: string }) {
  const say = useText();
  if (kind === 'same') return <span aria-hidden />;
  const added = kind === 'added';
  return (
    <span role="img" aria-label={say(added ? 'app.diff.added' : 'app.diff.removed')}>
      {added ? '+' : '−'}
    </span>
  );
}
