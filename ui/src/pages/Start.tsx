import { SquareStack } from 'lucide-react';
import { useState } from 'react';
import { Redirect, useLocation } from 'wouter';
import { createWorkspace, lastWorkspace, useMe } from '../data/me.ts';
import { useText } from '../i18n/Text.tsx';
import { Button } from '../parts/Button.tsx';
import { FormDialog } from '../parts/Dialog.tsx';
import { TextField } from '../parts/Field.tsx';
import { Page } from '../parts/Page.tsx';
import { Empty } from '../parts/State.tsx';

/** The way in: the workspace that was open last. Who is in none can make one. */
export function Start() {
  const say = useText();
  const me = useMe();
  const [, navigate] = useLocation();
  const [making, setMaking] = useState(false);
  const workspace = lastWorkspace(me);
  if (workspace) return <Redirect to={`/w/${workspace.id}`} replace />;
  return (
    <Page title={say('app.start.title')}>
      <Empty
        icon={SquareStack}
        title={say('app.start.none')}
        action={
          <Button kind="primary" onPress={() => setMaking(true)}>
            {say('app.workspace.new')}
          </Button>
        }
      >
        {say('app.start.none.help')}
      </Empty>
      <FormDialog
        isOpen={making}
        onClose={() => setMaking(false)}
        title={say('app.workspace.new')}
        submit={say('app.workspace.create')}
        onSubmit={async form => {
          const made = await createWorkspace(String(form.get('name')));
          navigate(`/w/${made.id}`);
        }}
      >
        {faults => <TextField label={say('app.name')} name="name" isRequired autoFocus fault={faults.name} />}
      </FormDialog>
    </Page>
  );
}
