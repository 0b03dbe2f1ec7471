import { CircleCheck, TriangleAlert, X } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { useText } from '../i18n/Text.tsx';
import { Button } from './Button.tsx';
import { dismiss, useToasts, type Toast } from './toast.ts';

const shownFor = 6_000;
const withAction = 10_000;

/** The region of toasts, in the shell from the start. F6 leads to it. */
export function Toasts() {
  const say = useText();
  const toasts = useToasts();
  const [held, hold] = useState(false);
  return (
    <section
      className="toasts"
      aria-label={say('app.toasts')}
      data-region
      tabIndex={-1}
      onMouseEnter={() => hold(true)}
      onMouseLeave={() => hold(false)}
      onFocus={() => hold(true)}
      onBlur={() => hold(false)}
    >
      <div role="status" aria-live="polite">
        {toasts.map(toast => (
          <Shown key={toast.id} toast={toast} held={held} />
        ))}
      </div>
    </section>
  );
}

function Shown({ toast, held }: { toast: Toast; held: boolean }) {
  const say = useText();
  const left = useRef(toast.action ? withAction : shownFor);
  useEffect(() => {
    if (held || toast.tone === 'bad') return;
    const since = Date.now();
    const timer = setTimeout(() => dismiss(toast.id), left.current);
    return () => {
      clearTimeout(timer);
      left.current = Math.max(1_000, left.current - (Date.now() - since));
    };
  }, [held, toast]);
  const Icon = toast.tone === 'bad' ? TriangleAlert : CircleCheck;
  return (
    <div className={`toast ${toast.tone}`}>
      <Icon aria-hidden />
      <p>{toast.text}</p>
      {toast.action && (
        <Button
          kind="quiet"
          onPress={() => {
            dismiss(toast.id);
            toast.action!.act();
          }}
        >
          {toast.action.text}
        </Button>
      )}
      <Button
        kind="quiet"
        icon
        aria-label={say('app.toast.close', { text: toast.text })}
        onPress={() => dismiss(toast.id)}
      >
        <X aria-hidden />
      </Button>
    </div>
  );
}
