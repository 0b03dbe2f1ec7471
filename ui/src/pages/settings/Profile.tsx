import { Monitor } from 'lucide-react';
import { useState } from 'react';
import { asApiError } from '../../data/api.ts';
import { useList } from '../../data/cache.ts';
import { browsersQuery, changePassword, endBrowserSession, renameMe, useMe } from '../../data/me.ts';
import type { BrowserSession } from '../../data/types.ts';
import { Text, useText } from '../../i18n/Text.tsx';
import { Badge } from '../../parts/Badge.tsx';
import { Button } from '../../parts/Button.tsx';
import { FormDialog } from '../../parts/Dialog.tsx';
import { TextField } from '../../parts/Field.tsx';
import { More } from '../../parts/More.tsx';
import { LoadedList } from '../../parts/State.tsx';
import { done, failed } from '../../parts/toast.ts';
import { Ago, Name } from '../../parts/words.tsx';
import { browserOf } from './browser.ts';

/** The person's own account, and where they are signed in. */
export function Profile() {
  return (
    <div className="stack">
      <Account />
      <Browsers />
    </div>
  );
}

function Account() {
  const say = useText();
  const me = useMe();
  const [asked, ask] = useState<'name' | 'password'>();
  const close = () => ask(undefined);
  return (
    <section className="card" aria-labelledby="profile">
      <div className="sec row">
        <h2 id="profile">{say('app.settings.profile')}</h2>
        <div className="end row">
          <Button onPress={() => ask('name')}>{say('app.profile.rename')}</Button>
          <Button onPress={() => ask('password')}>{say('app.profile.password')}</Button>
        </div>
      </div>
      <dl className="sec facts">
        <div>
          <dt>{say('app.name')}</dt>
          <dd>
            <Name>{me.name}</Name>
          </dd>
        </div>
        <div>
          <dt>{say('app.email')}</dt>
          <dd>
            <Name>{me.email}</Name>
          </dd>
        </div>
        {me.workspaces.map(team => (
          <div key={team.id}>
            <dt>
              <Name>{team.name}</Name>
            </dt>
            <dd>{say(`role.${team.role}`)}</dd>
          </div>
        ))}
      </dl>
      <FormDialog
        isOpen={asked === 'name'}
        onClose={close}
        title={say('app.profile.rename')}
        submit={say('app.profile.rename')}
        onSubmit={async form => {
          await renameMe(String(form.get('name')));
          done(say('app.profile.renamed'));
        }}
      >
        {faults => (
          <TextField
            label={say('app.name')}
            name="name"
            defaultValue={me.name}
            isRequired
            autoFocus
            autoComplete="name"
            fault={faults.name}
          />
        )}
      </FormDialog>
      <FormDialog
        isOpen={asked === 'password'}
        onClose={close}
        title={say('app.profile.password')}
        submit={say('app.profile.password')}
        onSubmit={async form => {
          await changePassword(String(form.get('current')), String(form.get('new')));
          done(say('app.profile.password.changed'));
        }}
      >
        {faults => (
          <>
            <p>{say('app.profile.password.text')}</p>
            <input type="hidden" name="username" autoComplete="username" value={me.email} />
            <TextField
              label={say('app.profile.password.current')}
              name="current"
              type="password"
              isRequired
              autoFocus
              autoComplete="current-password"
              fault={faults.current}
            />
            <TextField
              label={say('app.profile.password.new')}
              name="new"
              type="password"
              isRequired
              autoComplete="new-password"
              help={say('app.profile.password.help')}
              fault={faults.new}
            />
          </>
        )}
      </FormDialog>
    </section>
  );
}

function Browsers() {
  const say = useText();
  const list = useList(browsersQuery);
  const nameOf = (session: BrowserSession) => browserOf(session.user_agent) ?? say('app.browsers.unknown');
  const end = async (session: BrowserSession) => {
    try {
      await endBrowserSession(session.id);
      done(say('app.browsers.ended', { browser: nameOf(session) }));
    } catch (thrown) {
      failed(asApiError(thrown).message);
    }
  };
  return (
    <section className="card" aria-labelledby="browsers">
      <div className="sec">
        <h2 id="browsers">{say('app.browsers')}</h2>
      </div>
      <LoadedList of={list}>
        {items => (
          <ul className="list">
            {items.map(session => (
              <li key={session.id}>
                <Monitor aria-hidden />
                <div className="what">
                  <span className="title">
                    <Name>{nameOf(session)}</Name>
                    {session.current && <Badge>{say('app.browsers.this')}</Badge>}
                  </span>
                  <span className="meta">
                    <span>
                      <Text of="app.browsers.since" when={<Ago at={session.created_at} />} />
                    </span>
                    <span>
                      <Text of="app.used" when={<Ago at={session.last_seen_at} />} />
                    </span>
                  </span>
                </div>
                {!session.current && (
                  <div className="acts">
                    <Button
                      onPress={() => void end(session)}
                      aria-label={say('app.browsers.end', { browser: nameOf(session) })}
                    >
                      {say('app.sign_out')}
                    </Button>
                  </div>
                )}
              </li>
            ))}
          </ul>
        )}
      </LoadedList>
      <More of={list} />
    </section>
  );
}
