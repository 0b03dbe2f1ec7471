import { useSyncExternalStore } from 'react';

export interface Toast {
  id: number;
  text: string;
  tone: 'ok' | 'bad';
  action?: { text: string; act: () => void };
}

const most = 3;
let toasts: readonly Toast[] = [];
let nextID = 1;
const watchers = new Set<() => void>();

function set(next: readonly Toast[]) {
  toasts = next;
  watchers.forEach(told => told());
}

function show(toast: Omit<Toast, 'id'>): void {
  set([...toasts, { ...toast, id: nextID++ }].slice(-most));
}

/** Says what was done. The page says it too: a missed toast loses nothing. */
export const done = (text: string, action?: Toast['action']) => show({ text, tone: 'ok', ...(action && { action }) });

/** Says what was not done; stays until it is closed. */
export const failed = (text: string, action?: Toast['action']) =>
  show({ text, tone: 'bad', ...(action && { action }) });

export const dismiss = (id: number) => set(toasts.filter(toast => toast.id !== id));

export const useToasts = () =>
  useSyncExternalStore(
    told => {
      watchers.add(told);
      return () => watchers.delete(told);
    },
    () => toasts,
  );
