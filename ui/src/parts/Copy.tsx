import { Check, Copy as CopyIcon } from 'lucide-react';
import { useEffect, useId, useRef, useState } from 'react';
import { useText } from '../i18n/Text.tsx';
import { Button } from './Button.tsx';
import { done } from './toast.ts';

interface Props {
  label: string;
  text: string;
  /** The toast after it was copied. */
  copied: string;
  hideLabel?: boolean;
}

/**
 * A text to copy. On plain http, where pages have no clipboard, the button selects
 * it and says which keys to press.
 */
export function Copy({ label, text, copied, hideLabel }: Props) {
  const say = useText();
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [state, setState] = useState<'' | 'copied' | 'selected'>('');
  useEffect(() => {
    if (state !== 'copied') return;
    const timer = setTimeout(() => setState(''), 3_000);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setState('copied');
      done(copied);
    } catch {
      input.current?.select();
      setState('selected');
    }
  };
  return (
    <div className="field">
      <label htmlFor={id} className={hideLabel ? 'sr' : 'label'}>
        {label}
      </label>
      <div className="copy">
        <input
          id={id}
          ref={input}
          className="input mono"
          readOnly
          value={text}
          onFocus={event => event.target.select()}
        />
        <Button onPress={copy} aria-label={say('app.copy.label', { what: label })}>
          {state === 'copied' ? <Check aria-hidden /> : <CopyIcon aria-hidden />}
          {say(state === 'copied' ? 'app.copied' : 'app.copy')}
        </Button>
      </div>
      <p className="help" role="status">
        {state === 'selected' && say('app.copy.keys')}
      </p>
    </div>
  );
}
