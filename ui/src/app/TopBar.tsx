import { MenuIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import { useText } from '../i18n/Text.tsx';
import { Button } from '../parts/Button.tsx';
import { Bell } from './Bell.tsx';
import { useLayers } from './layers.ts';
import { LivePill } from './LivePill.tsx';

export function TopBar({ children, end }: { children?: ReactNode; end?: ReactNode }) {
  const say = useText();
  const open = useLayers();
  return (
    <header className="top">
      <span className="only-narrow">
        <Button kind="quiet" icon aria-label={say('app.navigation.open')} onPress={() => open('navigation')}>
          <MenuIcon aria-hidden />
        </Button>
      </span>
      {children}
      <div className="end">
        <LivePill />
        {end}
        <Bell />
      </div>
    </header>
  );
}
