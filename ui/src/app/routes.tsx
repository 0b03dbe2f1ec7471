import { lazy, type ComponentType } from 'react';

type Params = Record<string, string | undefined>;

/** A screen: the pattern of its address, and the page that draws it. */
export interface Route {
  path: string;
  page: ComponentType<Params>;
  /** Parameters that make it another page, which begins anew; others change what the page shows. */
  of?: string[];
}

const route = (path: string, load: () => Promise<ComponentType<never>>, of: string[] = []): Route => ({
  path,
  page: lazy(async () => ({ default: (await load()) as ComponentType<Params> })),
  of,
});

/** All screens. The server must know the first part of each path: appPlaces in internal/web/app.go. */
export const routes: Route[] = [
  route('/', async () => (await import('../pages/Start.tsx')).Start),
  route('/w/:workspace', async () => (await import('../pages/Home.tsx')).Home, ['workspace']),
  route('/w/:workspace/approvals', async () => (await import('../pages/Approvals.tsx')).Approvals, ['workspace']),
  route('/w/:workspace/activity', async () => (await import('../pages/Activity.tsx')).Activity, ['workspace']),
  route('/w/:workspace/assistants', async () => (await import('../pages/Assistants.tsx')).Assistants, ['workspace']),
  route('/w/:workspace/assistants/:connection', async () => (await import('../pages/Assistant.tsx')).Assistant, [
    'connection',
  ]),
  route('/p/:project', async () => (await import('../pages/Project.tsx')).Project, ['project']),
  route('/p/:project/access/:tab?', async () => (await import('../pages/Access.tsx')).Access, ['project']),
  route('/w/:workspace/connect', async () => (await import('../pages/Connect.tsx')).Connect, ['workspace']),
  route('/w/:workspace/people', async () => (await import('../pages/People.tsx')).People, ['workspace']),
  route('/p/:project/notes/:note/:tab?', async () => (await import('../pages/NotePage.tsx')).NotePage, ['note']),
  route('/search', async () => (await import('../pages/SearchPage.tsx')).SearchPage),
  route('/p/:project/sessions/new', async () => (await import('../pages/NewSession.tsx')).NewSession, ['project']),
  route('/s/:session/settings', async () => (await import('../pages/SessionSettings.tsx')).SessionSettings, [
    'session',
  ]),
  route('/s/:session/:tab?/:task?', async () => (await import('../pages/SessionPage.tsx')).SessionPage, ['session']),
  route('/w/:workspace/runtime', async () => (await import('../pages/Runtime.tsx')).Runtime, ['workspace']),
  route('/settings/:section?', async () => (await import('../pages/Settings.tsx')).Settings),
];
