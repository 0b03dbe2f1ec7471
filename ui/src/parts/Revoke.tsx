import { changeConnection } from '../data/connections.ts';
import type { Connection } from '../data/types.ts';
import { useText } from '../i18n/Text.tsx';
import { FormDialog } from './Dialog.tsx';
import { done } from './toast.ts';
import { Name } from './words.tsx';

interface Props {
  connection: Connection;
  workspace: string;
  isOpen: boolean;
  onClose: () => void;
}

/** Asks before a connection ends for good, and says what stops. */
export function RevokeDialog({ connection, workspace, isOpen, onClose }: Props) {
  const say = useText();
  const client = connection.name;
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={onClose}
      danger
      title={say('app.revoke.title', { client })}
      submit={say('app.revoke')}
      onSubmit={async () => {
        await changeConnection(connection.id, { status: 'revoked' });
        done(say('app.revoked', { client, workspace }));
      }}
    >
      <p>{say('app.revoke.text', { workspace })}</p>
      {connection.projects.length > 0 && (
        <div>
          <p className="label">{say('app.revoke.projects', { n: connection.projects.length })}</p>
          <ul className="meta">
            {connection.projects.map(project => (
              <li key={project.id}>
                <Name>{project.name}</Name>
              </li>
            ))}
          </ul>
        </div>
      )}
      <p>{say('app.revoke.final', { client })}</p>
    </FormDialog>
  );
}
