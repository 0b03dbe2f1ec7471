import type { UseQueryResult } from '@tanstack/react-query';
import { asApiError } from '../data/api.ts';
import { useText } from '../i18n/Text.tsx';
import { Page } from '../parts/Page.tsx';
import { Failure, Loading } from '../parts/State.tsx';

/** The page of a thing that was not read yet, cannot be, or is not there. It leaks no name. */
export function Unread({ of: query }: { of: Pick<UseQueryResult, 'error' | 'refetch'> }) {
  const say = useText();
  const again = () => void query.refetch();
  const error = query.error && asApiError(query.error);
  const title = !error
    ? 'app.loading'
    : error.notFound
      ? 'app.not_found.title'
      : error.denied
        ? 'app.denied.title'
        : 'app.failed.title';
  return <Page title={say(title)}>{error ? <Failure error={error} again={again} /> : <Loading again={again} />}</Page>;
}
