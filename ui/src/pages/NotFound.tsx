import { CircleSlash } from 'lucide-react';
import { useText } from '../i18n/Text.tsx';
import { LinkButton } from '../parts/Button.tsx';
import { Page } from '../parts/Page.tsx';
import { Empty } from '../parts/State.tsx';

export function NotFound() {
  const say = useText();
  return (
    <Page title={say('app.not_found.title')}>
      <Empty
        icon={CircleSlash}
        title={say('app.not_found')}
        action={<LinkButton to="/">{say('app.home')}</LinkButton>}
      />
    </Page>
  );
}
