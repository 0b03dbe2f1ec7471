import { again } from './again.ts';
import { at, put, remove } from './api.ts';
import { cache, listOptions } from './cache.ts';
import { onKind } from './live.ts';
import type { Seat } from './types.ts';

export type SeatName = 'observer' | 'contributor' | 'runner';

const listKey = (session: string) => ['session', session, 'seats'];

/** Those that have an effect: their connection is in the session's project. */
export const seatsQuery = (session: string) => ({
  ...listOptions<Seat>(listKey(session), at`/agent-sessions/${session}/connections`),
  refetchInterval: 20_000, // when an assistant was last there is not announced
});

/** Gives a connection a seat, or takes the one it has, from its next call on. */
export async function setSeat(session: string, connection: string, seat: SeatName | 'none'): Promise<void> {
  const path = at`/agent-sessions/${session}/connections/${connection}`;
  if (seat === 'none') await remove(path);
  else await put<Seat>(path, { seat });
  await cache.invalidateQueries({ queryKey: listKey(session) });
}

onKind('session', async event => {
  if (!event.type.startsWith('seat.')) return;
  await again(`seats ${event.id}`, () => cache.invalidateQueries({ queryKey: listKey(event.id) }));
});

// A seat counts while its connection is in the project and was not revoked.
onKind('connection', () => {
  void again('seats', () =>
    cache.invalidateQueries({
      queryKey: ['session'],
      predicate: ({ queryKey }) => queryKey[2] === 'seats',
    }),
  );
});
