import { Suspense, lazy, useCallback, useState, type ReactNode } from 'react';
import { Modal, ModalOverlay, Dialog } from 'react-aria-components';
import { useLocation } from 'wouter';
import { useText } from '../i18n/Text.tsx';
import { Toasts } from '../parts/Toasts.tsx';
import { BottomBar } from './BottomBar.tsx';
import { useKeys } from './keys.ts';
import { Layers, useLayers, type Layer } from './layers.ts';
import { Sidebar } from './Sidebar.tsx';
import { SignInAgain } from './SignInAgain.tsx';

const Palette = lazy(async () => ({ default: (await import('./Palette.tsx')).Palette }));
const KeysHelp = lazy(async () => ({ default: (await import('./KeysHelp.tsx')).KeysHelp }));

/** What is around every page. Its live regions are there from the start. */
export function Shell({ children }: { children: ReactNode }) {
  const say = useText();
  const [path] = useLocation();
  const [opened, setOpened] = useState<{ layer: Layer; at: string }>();
  // The drawer goes when it has led somewhere.
  const layer = opened?.layer === 'navigation' && opened.at !== path ? undefined : opened?.layer;
  const open = useCallback((next: Layer) => setOpened({ layer: next, at: location.pathname }), []);
  const close = () => setOpened(undefined);
  return (
    <Layers.Provider value={open}>
      <Keys />
      <a className="skip" href="#main">
        {say('app.skip')}
      </a>
      <div className="shell">
        <nav className="side" aria-label={say('app.navigation')} data-region tabIndex={-1}>
          <Sidebar />
        </nav>
        <div className="main">{children}</div>
      </div>
      <BottomBar />
      <Toasts />
      <div id="polite" className="sr" aria-live="polite" />
      <div id="assertive" className="sr" aria-live="assertive" />
      <ModalOverlay
        className="scrim sheet"
        isDismissable
        isOpen={layer === 'navigation'}
        onOpenChange={isOpen => !isOpen && close()}
      >
        <Modal className="drawer">
          <Dialog className="side" aria-label={say('app.navigation')}>
            <Sidebar />
          </Dialog>
        </Modal>
      </ModalOverlay>
      <Suspense>
        {layer === 'palette' && <Palette onClose={close} />}
        {layer === 'keys' && <KeysHelp onClose={close} />}
      </Suspense>
      <SignInAgain />
    </Layers.Provider>
  );
}

function Keys() {
  useKeys(useLayers());
  return null;
}
