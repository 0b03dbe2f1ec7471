import { useLocation } from 'wouter';
import { useText } from '../i18n/Text.tsx';
import type { TextKey } from '../i18n/locale.ts';
import { Button } from '../parts/Button.tsx';
import { Dialog } from '../parts/Dialog.tsx';

const note = /^\/p\/[^/]+\/notes\//;
const session = /^\/s\//;
const requests = /\/(approvals|handoffs)$/;

/** What a key does, the key, and on which pages; on all if none are named. */
const keys: ReadonlyArray<readonly [TextKey, string[], RegExp?]> = [
  ['app.keys.palette', ['Ctrl', 'K']],
  ['app.keys.home', ['G', 'H']],
  ['app.keys.approvals', ['G', 'A']],
  ['app.keys.assistants', ['G', 'C']],
  ['app.keys.activity', ['G', 'Y']],
  ['app.keys.settings', ['G', 'S']],
  ['app.keys.region', ['F6']],
  ['app.keys.save', ['Ctrl', 'S'], note],
  ['app.keys.tabs', ['Ctrl', 'Alt', '←/→'], note],
  ['app.keys.session', ['1–5'], session],
  ['app.keys.help', ['?']],
  ['app.keys.move', ['J/K'], requests],
  ['app.keys.unfold', ['O'], requests],
  ['app.keys.accept', ['A', 'A'], requests],
  ['app.keys.decline', ['D'], requests],
];

export function KeysHelp({ onClose }: { onClose: () => void }) {
  const say = useText();
  const [path] = useLocation();
  const here = keys.filter(([, , where]) => where?.test(path) ?? true);
  return (
    <Dialog isOpen onClose={onClose} title={say('app.keys')}>
      <dl className="keys">
        {here.map(([text, pressed]) => (
          <div key={text}>
            <dt>{say(text)}</dt>
            <dd>
              {pressed.map(key => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <p className="help">{say('app.keys.off')}</p>
      <div className="actions">
        <Button onPress={onClose}>{say('app.close')}</Button>
      </div>
    </Dialog>
  );
}
