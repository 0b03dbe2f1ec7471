import { Square, SquareCheck } from 'lucide-react';
import { lexer, type Token, type Tokens } from 'marked';
import { Fragment, useRef, type JSX, type ReactNode } from 'react';
import { Link } from 'wouter';
import { useText } from '../../i18n/Text.tsx';
import { clean } from '../../i18n/format.ts';
import { Button } from '../../parts/Button.tsx';

// Markdown for reading: the lexer's tokens become React elements from this list
// and from nothing else. HTML in a note is shown as the text it is.

interface Props {
  text: string;
  /** Text of an outside assistant: each link says where it leads. */
  showHosts?: boolean;
  /** Lists the headings above the text, if there are several. */
  outline?: boolean;
}

const fewHeadings = 2;

export default function Markdown({ text, showHosts = false, outline = false }: Props) {
  const body = useRef<HTMLDivElement>(null);
  const tokens = lexer(clean(text), { gfm: true });
  const headings = outline ? tokens.filter((token): token is Tokens.Heading => token.type === 'heading') : [];
  const show = (nth: number) => {
    const heading = body.current?.querySelectorAll<HTMLElement>(':scope > :is(h2, h3, h4, h5, h6)')[nth];
    if (!heading) return;
    heading.tabIndex = -1;
    heading.focus();
    heading.scrollIntoView({ block: 'start' });
  };
  return (
    <>
      {headings.length > fewHeadings && <Outline headings={headings} show={show} />}
      <div className="prose" ref={body}>
        {blocks(tokens, { showHosts, level: 1 })}
      </div>
    </>
  );
}

function Outline({ headings, show }: { headings: Tokens.Heading[]; show: (nth: number) => void }) {
  const say = useText();
  return (
    <details className="fold outline">
      <summary>{say('app.note.outline')}</summary>
      <ul>
        {headings.map((heading, nth) => (
          // oxlint-disable-next-line react/no-array-index-key -- two headings may say the same
          <li key={nth} className={heading.depth > 2 ? 'deep' : ''}>
            <Button kind="quiet" onPress={() => show(nth)}>
              <bdi>{plainOf(heading)}</bdi>
            </Button>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** The words of a token, without marks. */
function plainOf(token: Token): string {
  if ('tokens' in token && token.tokens) return token.tokens.map(plainOf).join('');
  return 'text' in token ? String(token.text) : '';
}

interface Context {
  showHosts: boolean;
  /** Of the heading before; the page has an h1, and none may be left out. */
  level: number;
}

function blocks(tokens: Token[], context: Context): ReactNode {
  // oxlint-disable-next-line react/no-array-index-key -- tokens have nothing else, and no state
  return tokens.map((token, i) => <Fragment key={i}>{block(token, context)}</Fragment>);
}

function block(token: Token, context: Context): ReactNode {
  switch (token.type) {
    case 'heading': {
      const { depth, tokens } = token as Tokens.Heading;
      context.level = Math.min(depth + 1, context.level + 1, 6);
      const Heading = `h${context.level}` as 'h2';
      return <Heading>{inline(tokens, context)}</Heading>;
    }
    case 'paragraph':
    case 'text': {
      const { tokens, text } = token as Tokens.Paragraph;
      const content = tokens ? inline(tokens, context) : text;
      return token.type === 'paragraph' ? <p dir="auto">{content}</p> : content;
    }
    case 'list':
      return <ListOf list={token as Tokens.List} context={context} />;
    case 'blockquote':
      return <blockquote>{blocks((token as Tokens.Blockquote).tokens, context)}</blockquote>;
    case 'code':
      return (
        <pre tabIndex={0}>
          <code>{(token as Tokens.Code).text}</code>
        </pre>
      );
    case 'table':
      return <TableOf table={token as Tokens.Table} context={context} />;
    case 'hr':
      return <hr />;
    case 'html':
      return <p>{(token as Tokens.HTML).text}</p>;
    case 'checkbox': // drawn with its item
    case 'space':
    case 'def':
      return null;
    default:
      return <p>{token.raw}</p>;
  }
}

function ListOf({ list, context }: { list: Tokens.List; context: Context }) {
  const items = list.items.map((item, i) => (
    // oxlint-disable-next-line react/no-array-index-key -- as above
    <li key={i} {...(item.task && { className: 'task' })}>
      {item.task && <Tick done={item.checked ?? false} />}
      <div>{blocks(item.tokens, context)}</div>
    </li>
  ));
  if (list.ordered) return <ol start={Number(list.start) || 1}>{items}</ol>;
  return <ul {...(list.items.some(item => item.task) && { className: 'tasks' })}>{items}</ul>;
}

function Tick({ done }: { done: boolean }) {
  const say = useText();
  return done ? <SquareCheck aria-label={say('app.task.done')} /> : <Square aria-label={say('app.task.open')} />;
}

function TableOf({ table, context }: { table: Tokens.Table; context: Context }): JSX.Element {
  const say = useText();
  const aligned = (i: number) => {
    const align = table.align[i];
    return align && align !== 'left' ? { className: align } : {};
  };
  return (
    <section className="scroller" tabIndex={0} aria-label={say('app.table')}>
      <table>
        <thead>
          <tr>
            {table.header.map((cell, i) => (
              // oxlint-disable-next-line react/no-array-index-key -- as above
              <th key={i} scope="col" {...aligned(i)}>
                {inline(cell.tokens, context)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, r) => (
            // oxlint-disable-next-line react/no-array-index-key -- as above
            <tr key={r}>
              {row.map((cell, i) => (
                // oxlint-disable-next-line react/no-array-index-key -- as above
                <td key={i} {...aligned(i)}>
                  {inline(cell.tokens, context)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function inline(tokens: Token[], context: Context): ReactNode {
  // oxlint-disable-next-line react/no-array-index-key -- as above
  return tokens.map((token, i) => <Fragment key={i}>{span(token, context)}</Fragment>);
}

function span(token: Token, context: Context): ReactNode {
  switch (token.type) {
    case 'strong':
      return <strong>{inline((token as Tokens.Strong).tokens, context)}</strong>;
    case 'em':
      return <em>{inline((token as Tokens.Em).tokens, context)}</em>;
    case 'del':
      return <del>{inline((token as Tokens.Del).tokens, context)}</del>;
    case 'codespan':
      return <code>{(token as Tokens.Codespan).text}</code>;
    case 'checkbox':
      return null;
    case 'br':
      return <br />;
    case 'link':
      return <LinkOf link={token as Tokens.Link} context={context} />;
    case 'image':
      // A picture from elsewhere would tell its server who reads this.
      return <ImageAddress image={token as Tokens.Image} />;
    case 'escape':
    case 'text':
      return 'tokens' in token && token.tokens ? inline(token.tokens, context) : (token as Tokens.Text).text;
    default:
      return token.raw;
  }
}

function ImageAddress({ image }: { image: Tokens.Image }) {
  return (
    <span>
      {image.text && `${image.text} `}
      <code>{image.href}</code>
    </span>
  );
}

function LinkOf({ link, context }: { link: Tokens.Link; context: Context }) {
  const content = inline(link.tokens, context);
  const target = targetOf(link.href);
  if (!target) {
    return (
      <span>
        {content} <code>{link.href}</code>
      </span>
    );
  }
  if (target.inside) return <Link href={target.href}>{content}</Link>;
  return (
    <>
      <a href={target.href} title={target.host} target="_blank" rel="noopener noreferrer nofollow">
        {content}
      </a>
      {context.showHosts && link.text !== link.href && <span className="host"> ({target.host})</span>}
    </>
  );
}

/** Where a link may lead: http, https, mailto, and addresses of this app. */
export function targetOf(href: string): { href: string; host: string; inside: boolean } | undefined {
  let address: URL;
  try {
    address = new URL(href, location.origin);
  } catch {
    return undefined;
  }
  if (address.origin === location.origin && /^\/(?![/\\])/.test(href)) {
    return { href: address.pathname + address.search + address.hash, host: address.host, inside: true };
  }
  if (!/^(https?:\/\/|mailto:)/i.test(href)) return undefined;
  return { href: address.href, host: address.protocol === 'mailto:' ? address.pathname : address.host, inside: false };
}
