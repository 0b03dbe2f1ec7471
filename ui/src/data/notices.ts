import { post } from './api.ts';
import { cache, listOptions, useList, type Pages } from './cache.ts';
import { onKind } from './live.ts';
import type { Notice } from './types.ts';

const key = ['notices'];

/** What this person was told, newest first. */
export const noticesQuery = listOptions<Notice>([...key, 'all'], '/notices', {}, 50);

export const unreadQuery = listOptions<Notice>([...key, 'unread'], '/notices', { unread: 'true' }, 100);

/** How many were not read; 100 stands for more. */
export function useUnread(): number {
  return useList(unreadQuery).items?.length ?? 0;
}

/** Marks these as read, or all of them. */
export async function markRead(ids?: string[]): Promise<void> {
  const at = new Date().toISOString();
  const read = (notice: Notice) => notice.read_at === null && (ids?.includes(notice.id) ?? true);
  cache.setQueryData<Pages<Notice>>(
    noticesQuery.queryKey,
    data => data && mapPages(data, items => items.map(notice => (read(notice) ? { ...notice, read_at: at } : notice))),
  );
  cache.setQueryData<Pages<Notice>>(
    unreadQuery.queryKey,
    data => data && mapPages(data, items => items.filter(notice => !read(notice))),
  );
  try {
    await post('/notices/read', ids ? { ids } : {});
  } finally {
    await cache.invalidateQueries({ queryKey: key });
  }
}

const mapPages = (data: Pages<Notice>, change: (items: Notice[]) => Notice[]): Pages<Notice> => ({
  ...data,
  pages: data.pages.map(page => ({ ...page, items: change(page.items) })),
});

// New connections are told to owners without an event of their own.
onKind('connection', async ({ type }) => {
  if (type === 'connection.created') await cache.invalidateQueries({ queryKey: key });
});

onKind('session', async ({ type }) => {
  if (type === 'notice.created') await cache.invalidateQueries({ queryKey: key });
});
