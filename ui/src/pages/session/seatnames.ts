import type { SeatName } from '../../data/seats.ts';
import { say, type TextKey } from '../../i18n/locale.ts';

export const seatNames = {
  observer: 'app.seat.observer',
  contributor: 'app.seat.contributor',
  runner: 'app.seat.runner',
} as const satisfies Record<SeatName, TextKey>;

/** A seat in words, for what the server says of one. */
export const seatName = (seat: string) => (seat in seatNames ? say(seatNames[seat as SeatName]) : seat);
