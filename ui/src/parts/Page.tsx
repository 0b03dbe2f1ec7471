import { ChevronRight } from 'lucide-react';
import { useEffect, useRef, type ReactNode } from 'react';
import { Link } from 'wouter';
import { TopBar } from '../app/TopBar.tsx';
import { useText } from '../i18n/Text.tsx';
import { clean } from '../i18n/format.ts';
import { Name } from './words.tsx';

export interface Crumb {
  text: string;
  to: string;
}

interface Props {
  /** Of the page: its h1 and, with the crumbs, its title. */
  title: string;
  /** What the breadcrumb ends in, where that is not the title. */
  here?: string;
  /** What the document's title begins with, from the inside out, where that is not the title. */
  documentTitle?: string[];
  /** The places above, from the outside in. */
  crumbs?: Crumb[];
  /** Under the heading. */
  meta?: ReactNode;
  /** At the right of the heading: what can be done here, the main thing last. */
  actions?: ReactNode;
  /** At the right of the top bar. */
  top?: ReactNode;
  /** In place of the plain heading; must hold the h1 that useHeading gives. */
  heading?: ReactNode;
  wide?: boolean;
  children: ReactNode;
}

let first = true;

/** The heading of a page takes the focus when the page is gone to, not when it is opened. */
export function useHeading<T extends HTMLElement>() {
  const heading = useRef<T>(null);
  useEffect(() => {
    if (!first) heading.current?.focus({ preventScroll: true });
    if (!first) scrollTo(0, 0);
    first = false;
  }, []);
  return heading;
}

/** One page of the app: top bar, heading, content. */
export function Page({
  title,
  here = title,
  documentTitle = [title],
  crumbs = [],
  meta,
  actions,
  top,
  heading,
  wide,
  children,
}: Props) {
  const h1 = useHeading<HTMLHeadingElement>();
  return (
    <>
      <title>
        {[...documentTitle, ...crumbs.map(crumb => crumb.text).toReversed(), 'osFoundry'].map(clean).join(' · ')}
      </title>
      <TopBar end={top}>
        <Crumbs crumbs={crumbs} here={here} />
      </TopBar>
      <main id="main" tabIndex={-1} data-region>
        <div className={wide ? 'page wide' : 'page'}>
          <div className="head">
            <div>
              {heading ?? (
                <h1 ref={h1} tabIndex={-1}>
                  <Name>{title}</Name>
                </h1>
              )}
              {meta && <div className="meta">{meta}</div>}
            </div>
            {actions && <div className="end">{actions}</div>}
          </div>
          {children}
        </div>
      </main>
    </>
  );
}

function Crumbs({ crumbs, here }: { crumbs: Crumb[]; here: string }) {
  const say = useText();
  return (
    <nav aria-label={say('app.breadcrumb')} className="crumbs">
      <ol>
        {crumbs.map(crumb => (
          <li key={crumb.to}>
            <Link href={crumb.to}>
              <Name>{crumb.text}</Name>
            </Link>
            <ChevronRight aria-hidden />
          </li>
        ))}
        <li aria-current="page">
          <Name>{here}</Name>
        </li>
      </ol>
    </nav>
  );
}
