import { Home, Plug, Search, UserRound } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { useText } from '../i18n/Text.tsx';
import { useLayers } from './layers.ts';
import { usePlace } from './place.ts';

/** The main places, within reach of a thumb. */
export function BottomBar() {
  const say = useText();
  const open = useLayers();
  const { workspace } = usePlace();
  const home = workspace ? `/w/${workspace.id}` : '/';
  return (
    <nav className="bottom" aria-label={say('app.navigation.short')}>
      <Place to={home} icon={<Home aria-hidden />} text={say('app.home')} />
      <Place to={`${home}/assistants`} icon={<Plug aria-hidden />} text={say('app.assistants.short')} />
      <button type="button" onClick={() => open('palette')}>
        <Search aria-hidden />
        {say('app.search')}
      </button>
      <Place to="/settings" icon={<UserRound aria-hidden />} text={say('app.you')} />
    </nav>
  );
}

function Place({ to, icon, text }: { to: string; icon: ReactNode; text: string }) {
  const [path] = useLocation();
  return (
    <Link href={to} aria-current={path === to ? 'page' : undefined}>
      {icon}
      {text}
    </Link>
  );
}
