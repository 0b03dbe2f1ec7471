import { Bell as BellIcon } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { DialogTrigger, Popover } from 'react-aria-components';
import { useUnread } from '../data/notices.ts';
import { useText } from '../i18n/Text.tsx';
import { Button } from '../parts/Button.tsx';
import { Loading } from '../parts/State.tsx';

const Notices = lazy(async () => ({ default: (await import('./Notices.tsx')).Notices }));

/** Says how much is new, and shows what. */
export function Bell() {
  const say = useText();
  const n = useUnread();
  const [isOpen, setOpen] = useState(false);
  return (
    <DialogTrigger isOpen={isOpen} onOpenChange={setOpen}>
      <span className="bell">
        <Button kind="quiet" icon aria-label={n > 0 ? say('app.notices.unread', { n }) : say('app.notices')}>
          <BellIcon aria-hidden />
          {n > 0 && (
            <span className="dot" aria-hidden>
              {n > 99 ? '99+' : n}
            </span>
          )}
        </Button>
      </span>
      {/* Without a Dialog in it the popover is one, with its button for closing inside. */}
      <Popover className="popover notices" placement="bottom end" aria-label={say('app.notices')}>
        <Suspense fallback={<Loading />}>
          <Notices close={() => setOpen(false)} />
        </Suspense>
      </Popover>
    </DialogTrigger>
  );
}
