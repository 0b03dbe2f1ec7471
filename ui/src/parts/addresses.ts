/** The page of a session, or a tab of it. */
export const sessionAddress = (session: string, tab?: 'tasks' | 'handoffs' | 'mail' | 'connected') =>
  `/s/${session}${tab ? `/${tab}` : ''}`;

/** The page of a task, which shows its rounds. */
export const taskAddress = (session: string, task: string) => `${sessionAddress(session, 'tasks')}/${task}`;
