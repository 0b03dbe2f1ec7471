import { useEffect, useRef } from 'react';
import { useText } from '../i18n/Text.tsx';
import { Button } from './Button.tsx';

interface Pages {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => unknown;
}

/** The end of a list: reads on when it comes into sight, and has a button for it. */
export function More({ of: list }: { of: Pages }) {
  const say = useText();
  const end = useRef<HTMLDivElement>(null);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  useEffect(() => {
    if (!hasNextPage || isFetchingNextPage || !end.current) return;
    const seen = new IntersectionObserver(
      entries => entries.some(entry => entry.isIntersecting) && void fetchNextPage(),
      {
        rootMargin: '400px',
      },
    );
    seen.observe(end.current);
    return () => seen.disconnect();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  if (!hasNextPage) return null;
  return (
    <div ref={end} className="more">
      <Button onPress={() => void fetchNextPage()} isBusy={isFetchingNextPage}>
        {say('app.more')}
      </Button>
    </div>
  );
}
