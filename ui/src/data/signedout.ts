import { useSyncExternalStore } from 'react';
import { onSignedOut } from './api.ts';

let signedOut = false;
const watchers = new Set<() => void>();

/** Says whether the server knows who is asking. */
export function setSignedOut(value: boolean): void {
  if (signedOut === value) return;
  signedOut = value;
  watchers.forEach(told => told());
}

onSignedOut.tell = () => setSignedOut(true);

export const useSignedOut = () =>
  useSyncExternalStore(
    told => {
      watchers.add(told);
      return () => watchers.delete(told);
    },
    () => signedOut,
  );
