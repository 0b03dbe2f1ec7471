import { Home, Inbox, Plug, Search, UserRound } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { useWaiting } from '../data/handoffs.ts';
import { useText } from '../i18n/Text.tsx';
import { Count } from '../parts/Badge.tsx';
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
      {workspace && workspace.role !== 'viewer' ? (
        <ApprovalsPlace workspace={workspace.id} />
      ) : (
        <Place to={`${home}/assistants`} icon={<Plug aria-hidden />} text={say('app.assistants.short')} />
      )}
      <button type="button" onClick={() => open('palette')}>
        <Search aria-hidden />
        {say('app.search')}
      </button>
      <Place to="/settings" icon={<UserRound aria-hidden />} text={say('app.you')} />
    </nav>
  );
}

function ApprovalsPlace({ workspace }: { workspace: string }) {
  const say = useText();
  const n = useWaiting(workspace);
  return (
    <Place
      to={`/w/${workspace}/approvals`}
      icon={<Inbox aria-hidden />}
      text={say('app.approvals')}
      count={n > 0 && <Count n={n} />}
    />
  );
}

function Place({ to, icon, text, count }: { to: string; icon: ReactNode; text: string; count?: ReactNode }) {
  const [path] = useLocation();
  return (
    <Link href={to} aria-current={path === to ? 'page' : undefined}>
      {icon}
      {text}
      {count}
    </Link>
  );
}
