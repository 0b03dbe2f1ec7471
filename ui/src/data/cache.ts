import {
  QueryClient,
  type InfiniteData,
  type QueryKey,
  useInfiniteQuery,
  type UseInfiniteQueryOptions,
} from '@tanstack/react-query';
import { useEffect } from 'react';
import { asApiError, get } from './api.ts';

/** Rows of one page of a list; more than this on screen makes changes slow. */
export const pageSize = 200;

/** What was fetched. Events say what to fetch anew, so nothing gets old by itself. */
export const cache = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5 * 60_000,
      refetchOnWindowFocus: false,
      networkMode: 'always', // the server may be this computer
      retry: (count, thrown) => {
        const { status } = asApiError(thrown);
        return (status === 0 || status >= 500) && count < 2;
      },
      retryDelay: (count, thrown) => Math.max(asApiError(thrown).retryAfter, 500 * 2 ** count),
      throwOnError: false,
    },
    mutations: { networkMode: 'always', retry: false },
  },
});

/** One page of a list, as the API answers. */
export interface Page<T> {
  items: T[];
  next_cursor?: string;
}

export type Pages<T> = InfiniteData<Page<T>, string>;

export type ListOptions<T> = UseInfiniteQueryOptions<Page<T>, Error, Pages<T>, QueryKey, string>;

/** The options of a list that comes in pages. */
export const listOptions = <T>(
  key: QueryKey,
  path: string,
  query: Record<string, string | undefined> = {},
  size = pageSize,
): ListOptions<T> => ({
  queryKey: key,
  initialPageParam: '',
  queryFn: ({ pageParam, signal }) =>
    get<Page<T>>(path, { ...query, limit: size, cursor: pageParam || undefined }, signal),
  getNextPageParam: page => page.next_cursor,
});

/** A list with all pages that were fetched so far in `items`. */
export function useList<T>(options: ListOptions<T>) {
  const list = useInfiniteQuery(options);
  return { ...list, items: list.data?.pages.flatMap(page => page.items) };
}

/** useList, read to its end: what is sorted and filtered here has to be here. */
export function useWholeList<T>(options: ListOptions<T>) {
  const list = useList(options);
  const { hasNextPage, isFetching, isError, fetchNextPage } = list;
  useEffect(() => {
    if (hasNextPage && !isFetching && !isError) void fetchNextPage();
  }, [hasNextPage, isFetching, isError, fetchNextPage]);
  return list;
}

/** Puts the item in place of the one with its ID, in every list under the key. */
export function patchLists<T extends { id: string }>(under: QueryKey, item: T): boolean {
  let found = false;
  cache.setQueriesData<Pages<T>>({ queryKey: under }, data => {
    if (!data?.pages?.some(page => page.items.some(row => row.id === item.id))) return data;
    found = true;
    return mapRows(data, row => (row.id === item.id ? { ...row, ...item } : row));
  });
  return found;
}

/** Takes the row with this ID out of every list under the key. */
export function dropFromLists(under: QueryKey, id: string): void {
  cache.setQueriesData<Pages<{ id: string }>>({ queryKey: under }, data => {
    if (!data?.pages?.some(page => page.items.some(row => row.id === id))) return data;
    return { ...data, pages: data.pages.map(page => ({ ...page, items: page.items.filter(row => row.id !== id) })) };
  });
}

const mapRows = <T>(data: Pages<T>, change: (row: T) => T): Pages<T> => ({
  ...data,
  pages: data.pages.map(page => ({ ...page, items: page.items.map(change) })),
});
