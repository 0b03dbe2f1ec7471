import { useState } from 'react';
import { Heading, Dialog, Modal, ModalOverlay } from 'react-aria-components';
import { asApiError, type ApiError } from '../data/api.ts';
import { cache } from '../data/cache.ts';
import { goLive } from '../data/live.ts';
import { meQuery, signIn } from '../data/me.ts';
import { setSignedOut, useSignedOut } from '../data/signedout.ts';
import type { Me } from '../data/types.ts';
import { useText } from '../i18n/Text.tsx';
import { Button } from '../parts/Button.tsx';
import { TextField } from '../parts/Field.tsx';

/** Lies over the page when the session ended; what was typed there stays. */
export function SignInAgain() {
  const say = useText();
  const signedOut = useSignedOut();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const before = cache.getQueryData<Me>(meQuery.queryKey);
  const send = async (form: FormData) => {
    setBusy(true);
    try {
      const me = await signIn(String(form.get('email')), String(form.get('password')));
      if (before && me.id !== before.id) {
        location.assign('/'); // another person must not see what this page holds
        return;
      }
      setError(undefined);
      setSignedOut(false);
      goLive();
      void cache.invalidateQueries();
    } catch (thrown) {
      setError(asApiError(thrown));
    } finally {
      setBusy(false);
    }
  };
  return (
    <ModalOverlay className="scrim" isOpen={signedOut} isKeyboardDismissDisabled>
      <Modal className="modal">
        <Dialog className="dialog">
          <Heading slot="title">{say('app.sign_in_again')}</Heading>
          <p>{say('app.sign_in_again.text')}</p>
          <form
            className="form"
            noValidate
            onSubmit={event => {
              event.preventDefault();
              if (!busy) void send(new FormData(event.currentTarget));
            }}
          >
            {error && (
              <p className="alert" role="alert">
                {error.message}
              </p>
            )}
            <TextField
              label={say('app.email')}
              name="email"
              type="email"
              autoComplete="username"
              defaultValue={before?.email ?? ''}
            />
            <TextField
              label={say('app.password')}
              name="password"
              type="password"
              autoComplete="current-password"
              autoFocus
            />
            <div className="actions">
              <Button type="submit" kind="primary" isBusy={busy}>
                {say('app.sign_in')}
              </Button>
            </div>
          </form>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
