import type { UseQueryResult } from '@tanstack/react-query';
import { CircleSlash, RefreshCw, SearchX, TriangleAlert, type LucideIcon } from 'lucide-react';
import { useEffect, useState, type ReactNode } from 'react';
import { asApiError, type ApiError } from '../data/api.ts';
import { useText } from '../i18n/Text.tsx';
import { Button } from './Button.tsx';

// What a part of a page shows in place of its content. Every list and every page
// has all of them: loading, empty, filtered to nothing, failed, denied, not found.

const quiet = 300; // before that nothing changes
const long = 10_000;

/** Grey bars in the shape of rows, after a moment; after 10 s also a way on. */
export function Loading({ rows = 3, again }: { rows?: number; again?: () => void }) {
  const say = useText();
  const [waited, setWaited] = useState(0);
  useEffect(() => {
    const timers = [quiet, long].map(ms => setTimeout(() => setWaited(ms), ms));
    return () => timers.forEach(clearTimeout);
  }, []);
  return (
    <div className="loading" role="status" aria-busy>
      {waited >= quiet && (
        <>
          <span className="sr">{say('app.loading')}</span>
          {Array.from({ length: rows }, (_, row) => (
            // oxlint-disable-next-line react/no-array-index-key -- bars have nothing else
            <div className="bars" key={row} aria-hidden>
              <i />
              <i />
            </div>
          ))}
        </>
      )}
      {waited >= long && again && (
        <p className="row">
          {say('app.loading.long')}
          <Button onPress={again}>{say('app.again')}</Button>
        </p>
      )}
    </div>
  );
}

interface EmptyProps {
  icon: LucideIcon;
  title: string;
  children?: ReactNode;
  /** The one button that starts it. */
  action?: ReactNode;
}

export const Empty = ({ icon: Icon, title, children, action }: EmptyProps) => (
  <div className="empty">
    <Icon aria-hidden />
    <p className="what">{title}</p>
    {children && <p>{children}</p>}
    {action}
  </div>
);

export function Nothing({ clear }: { clear: () => void }) {
  const say = useText();
  return (
    <Empty
      icon={SearchX}
      title={say('app.nothing_matches')}
      action={<Button onPress={clear}>{say('app.clear_filters')}</Button>}
    />
  );
}

/** A part that could not be read: what, why, and trying again. */
export function Failure({ error, again }: { error: ApiError; again?: () => void }) {
  const say = useText();
  if (error.notFound) return <Empty icon={CircleSlash} title={say('app.not_found')} />;
  if (error.denied)
    return (
      <Empty icon={CircleSlash} title={say('app.denied')}>
        {say('app.denied.help')}
      </Empty>
    );
  return (
    <div className="failure" role="alert">
      <TriangleAlert aria-hidden />
      <div>
        <p className="what">{say('app.failed')}</p>
        <p>{error.message}</p>
        <details className="fold">
          <summary>{say('app.details')}</summary>
          <code>{`${error.status} ${error.code}`}</code>
        </details>
      </div>
      {again && (
        <Button onPress={again}>
          <RefreshCw aria-hidden />
          {say('app.again')}
        </Button>
      )}
    </div>
  );
}

type Read<T> = Pick<UseQueryResult<T>, 'data' | 'error' | 'refetch'>;

/**
 * Draws what a query read, or the state that stands in for it. What was read once
 * stays on screen while it is read again, and after that failed too.
 */
export function Loaded<T>({
  of: query,
  rows,
  children,
}: {
  of: Read<T>;
  rows?: number;
  children: (data: T) => ReactNode;
}) {
  const again = () => void query.refetch();
  const error = query.error && asApiError(query.error);
  if (query.data !== undefined && !(error && (error.notFound || error.denied))) return children(query.data);
  if (error) return <Failure error={error} again={again} />;
  return <Loading {...(rows && { rows })} again={again} />;
}

/** Loaded for a list that useList read. */
export function LoadedList<T>({
  of: list,
  rows,
  children,
}: {
  of: Omit<Read<unknown>, 'data'> & { items: T[] | undefined };
  rows?: number;
  children: (items: T[]) => ReactNode;
}) {
  return (
    <Loaded of={{ data: list.items, error: list.error, refetch: list.refetch } as Read<T[]>} {...(rows && { rows })}>
      {children}
    </Loaded>
  );
}
