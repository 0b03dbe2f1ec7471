import { QueryClientProvider } from '@tanstack/react-query';
import { Suspense } from 'react';
import { I18nProvider, RouterProvider } from 'react-aria-components';
import { Route, Switch, useLocation } from 'wouter';
import { cache } from '../data/cache.ts';
import { useLocale } from '../i18n/locale.ts';
import { NotFound } from '../pages/NotFound.tsx';
import { Fault } from './Fault.tsx';
import { LoadingPage } from './LoadingPage.tsx';
import { routes } from './routes.tsx';
import { Shell } from './Shell.tsx';

const spoken = (tag: string) => (tag === 'en-XA' ? 'en' : tag);

export function App() {
  const { tag } = useLocale();
  const [, navigate] = useLocation();
  return (
    <QueryClientProvider client={cache}>
      <I18nProvider locale={spoken(tag)}>
        <RouterProvider navigate={path => navigate(path)}>
          <Fault>
            <Suspense>
              <Shell>
                <Fault>
                  <Suspense fallback={<LoadingPage />}>
                    <Screens />
                  </Suspense>
                </Fault>
              </Shell>
            </Suspense>
          </Fault>
        </RouterProvider>
      </I18nProvider>
    </QueryClientProvider>
  );
}

function Screens() {
  return (
    <Switch>
      {routes.map(({ path, page: Screen, of = [] }) => (
        <Route key={path} path={path}>
          {params => {
            const values = params as Record<string, string | undefined>;
            return <Screen key={of.map(name => values[name]).join(' ')} {...values} />;
          }}
        </Route>
      ))}
      <Route>
        <NotFound />
      </Route>
    </Switch>
  );
}
