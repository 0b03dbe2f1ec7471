import { RefreshCw, WifiOff } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useLive } from '../data/live.ts';
import { useText } from '../i18n/Text.tsx';
import { clock } from '../i18n/time.ts';
import { Badge } from '../parts/Badge.tsx';
import { Button } from '../parts/Button.tsx';

const noticed = 3_000; // a shorter break is nobody's concern
const offline = 30_000;

/** The longest of the two times that the connection is lost for by now, or 0. */
function useLostFor(lostAt: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!lostAt) return;
    const timers = [noticed, offline].map(ms =>
      setTimeout(() => setNow(Date.now()), Math.max(0, lostAt + ms - Date.now())),
    );
    return () => timers.forEach(clearTimeout);
  }, [lostAt]);
  if (!lostAt) return 0;
  return [offline, noticed].find(ms => now >= lostAt + ms) ?? 0;
}

/** How the connection to the server is, if there is something to say about it. */
export function LivePill() {
  const say = useText();
  const { lostAt, newVersion } = useLive();
  const lost = useLostFor(lostAt);
  return (
    <span role="status" className="live">
      {lost === offline && (
        <Badge tone="warn" icon={WifiOff}>
          {say('app.offline', { time: clock(new Date(lostAt).toISOString()) })}
        </Badge>
      )}
      {lost === noticed && (
        <Badge icon={RefreshCw} tone="info">
          {say('app.reconnecting')}
        </Badge>
      )}
      {newVersion && !lost && (
        <>
          <span className="only-wide">{say('app.new_version')}</span>
          <Button onPress={() => location.reload()}>{say('app.reload')}</Button>
        </>
      )}
    </span>
  );
}
